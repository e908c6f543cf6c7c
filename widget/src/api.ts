/** The widget's HTTP client for `/web-chat/{site_id}`. A failed call is a value, not an exception. */
export type Settings = {
  title: string | null
  greeting: string | null
  color: string
  position: 'right' | 'left'
  ask_details: 'never' | 'optional' | 'required'
  /** When members answer, in the language of the widget. */
  hint: string | null
}

/** Content that the visitor sees besides the text: choices, a link, a location. */
export type MessageContent = {
  interactive?: {
    header?: string
    footer?: string
    buttons?: { id: string; title: string }[]
    /** The label of a list, and its rows. */
    button?: string
    sections?: { title: string; rows: { id: string; title: string; description?: string }[] }[]
    text?: string
    url?: string
  }
  location?: { latitude: number; longitude: number; name?: string; address?: string }
}

/** A tapped button or row of a message. */
export type Tap = { message_id: string; id: string }

export type Message = {
  id: string
  direction: 'inbound' | 'outbound'
  content_type: string
  content_text: string | null
  media_url: string | null
  /** `read`: a member has read the visitor's message, or the visitor a member's. */
  status: string
  /** The member who wrote it. */
  sender?: { name: string } | null
  content?: MessageContent | null
  reply_to_message_id: string | null
  interactive_reply_id: string | null
  deleted_at: string | null
  created_at: string
  /** The idempotency id that this browser chose. Only the visitor's own messages have one. */
  client_id?: string
}

type Result<Data> =
  | { ok: true; data: Data; nextCursor: string | null }
  /** `status` is 0 when there was no response. Browsers also hide the response of a CORS refusal. */
  | { ok: false; status: number; retryMs?: number | undefined; message: string }

type NewMessage = { text: string; client_id: string; file?: string; tap?: Tap; name?: string; email?: string }

export type Api = {
  /** `language`: of the hint, and of the lines of later streams. */
  getSettings(language: string): Promise<Result<Settings>>
  createVisitor(): Promise<Result<{ visitor_token: string }>>
  /** The visitor of an identity token that the site's server signed. */
  identify(token: string): Promise<Result<{ visitor_token: string; visitor_id: string }>>
  sendTyping(token: string, isTyping: boolean): void
  /** Reports that the visitor has seen the messages up to this one. */
  sendSeen(token: string, messageId: string): void
  sendMessage(token: string, message: NewMessage): Promise<Result<Message>>
  /** Stores a file. The `file` in the answer is sent with a message. */
  uploadFile(token: string, file: File): Promise<Result<{ file: string }>>
  /** Newest first. */
  listMessages(token: string, cursor?: string): Promise<Result<Message[]>>
  openStream(token: string): EventSource
}

const timeoutMs = 20_000
/** 10 MiB at 0.3 Mbit/s. */
const uploadTimeoutMs = 300_000

/** `baseUrl` is the folder that the script was loaded from. It ends with a slash. */
export function createApi(baseUrl: string, siteId: string): Api {
  const site = `${baseUrl}web-chat/${encodeURIComponent(siteId)}`
  let language = ''

  async function call<Data>(path: string, token?: string, body?: unknown, method = 'GET'): Promise<Result<Data>> {
    const abort = new AbortController()
    const isFile = body instanceof File
    const timer = setTimeout(() => abort.abort(), isFile ? uploadTimeoutMs : timeoutMs)
    try {
      const response = await fetch(site + path, {
        method,
        headers: {
          ...(token ? { 'x-visitor-token': token } : {}),
          ...(body ? { 'content-type': isFile ? body.type || 'application/octet-stream' : 'application/json' } : {}),
        },
        ...(body ? { body: isFile ? body : JSON.stringify(body) } : {}),
        credentials: 'omit',
        signal: abort.signal,
      })
      const retryMs = Number(response.headers.get('retry-after')) * 1000 || undefined
      // An error of a proxy is not JSON, or not in the form of the service. A response without content, to a signal, is of no interest.
      const json = response.json()
      if (!response.ok) {
        const refusal = await json.catch(() => {})
        return { ok: false, status: response.status, retryMs, message: refusal?.error?.message }
      }
      const { data, meta } = await json
      return { ok: true, data, nextCursor: meta?.next_cursor ?? null }
    } catch {
      return { ok: false, status: 0, message: 'no response' }
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    getSettings: (lang) => {
      language = lang
      return call(`/settings?language=${lang}&time_zone=${Intl.DateTimeFormat().resolvedOptions().timeZone}`)
    },
    createVisitor: () => call('/visitors', undefined, undefined, 'POST'),
    identify: (token) => call('/identity', undefined, { token }, 'POST'),
    sendTyping: (token, isTyping) => void call('/typing', token, { is_typing: isTyping }, 'POST'),
    sendSeen: (token, messageId) => void call('/seen', token, { message_id: messageId }, 'POST'),
    sendMessage: (token, message) => call('/messages', token, { ...message, page: currentPage() }, 'POST'),
    uploadFile: (token, file) => call(`/files?filename=${encodeURIComponent(file.name)}`, token, file, 'POST'),
    listMessages: (token, cursor) =>
      call(`/messages?limit=50${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`, token),
    openStream: (token) => {
      const { url, title } = currentPage()
      const query = new URLSearchParams({ token, language, page_url: url, page_title: title })
      return new EventSource(`${site}/stream?${query}`)
    },
  }
}

/** The page that the visitor is on, for the members. Query string and fragment may contain secrets of the site. */
const currentPage = () => ({
  url: (location.origin + location.pathname).slice(0, 1_000),
  title: document.title.slice(0, 200),
})
