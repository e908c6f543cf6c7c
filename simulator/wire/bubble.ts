/** A message as the phone page shows it. Types only: the page and the server share them. */
export type BubbleStatus = 'accepted' | 'sent' | 'delivered' | 'read' | 'failed'

/** `code` is 0 for an error that is not the provider's. */
export type BubbleError = { code: number; message: string }

export type Location = {
  latitude: number | string
  longitude: number | string
  name?: string | null
  address?: string | null
}

export type Bubble = {
  id: string
  from: 'business' | 'customer'
  at: string
  type: string
  text: string | null
  status: BubbleStatus
  error: BubbleError | null
  media: { url: string; mime_type: string | null; filename: string | null } | null
  template: RenderedTemplate | null
  reply_to: string | null
  location?: Location
  contacts?: { name: string; phone: string }[]
  reaction?: { message_id: string; emoji: string }
}

export type RenderedHeader = {
  type: 'text' | 'image' | 'video' | 'document' | 'location'
  text?: string
  url?: string
  filename?: string
  location?: Location
}

export type RenderedButton = {
  index: number
  type: string
  text: string
  url?: string
  code?: string
  payload?: string
  /** Of a row in a list. */
  section?: string
  description?: string
}

export type RenderedCard = { header: RenderedHeader | null; body: string; buttons: RenderedButton[] }

export type RenderedTemplate = RenderedCard & {
  name: string
  footer: string | null
  cards: RenderedCard[] | null
  /** The label of the button that opens a list. */
  list_label?: string
}
