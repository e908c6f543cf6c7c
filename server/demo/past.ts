/** The rows of the demo before they are written: what is common to the files that build them and those that insert them. */
import type { Template } from '../channels/channel.ts'
import type { ChannelName } from '../contacts/resource.ts'
import type { PastEvent } from '../conversations/episodes/replay.ts'
import type { StoredDetails } from '../conversations/timeline.ts'
import type { Settings } from '../satisfaction/settings.ts'
import type { MemberKey, TeamKey } from './people.ts'
import type { DemoThread } from './texts.ts'

export type Picture = { id: string; path: string; token: string; filename: string }

export type Past = {
  workspaceId: string
  ownerId: string
  memberIds: Record<MemberKey, string>
  broadcastId: string
  nowMs: number
  templates: readonly Template[]
  /** The picture of this file name. */
  pictureOf(filename: string): Picture
  publicUrl: string
  teamIds: Record<TeamKey, string>
  /** How customers are asked for a rating. */
  satisfaction: Settings
}

export type PastMessage = {
  conversation_id: string
  id: string
  direction: 'inbound' | 'outbound'
  sender_type: 'customer' | 'agent' | 'bot'
  sender_id: string | null
  content_type: string
  content_text: string | null
  content: unknown
  media_url: string | null
  template_name: string | null
  external_id: string | null
  status: string
  error: string | null
  reply_to_message_id: string | null
  interactive_reply_id: string | null
  broadcast_id: string | null
  sent_at: string | null
  created_at: string
  /** The file of the message. */
  picture: Picture | null
  /** Part of a question about satisfaction: no work of the team. */
  isOfRating: boolean
}

export type PastThread = {
  id: string
  contact_id: string
  channel: ChannelName
  status: DemoThread['status']
  assigned_agent_id: string | null
  /** Null if nothing was ever to do. */
  team_id: string | null
  unread_count: number
  labels: readonly string[]
  snoozed_until: string | null
  notes: { id: string; member_id: string; mentions: string[]; text: string; created_at: string }[]
  created_at: string
  messages: PastMessage[]
  entries: PastEntry[]
  ratings: PastRating[]
}

export type PastEntry = Omit<PastEvent, 'at' | 'kind' | 'details'> & {
  kind: 'status' | 'assigned' | 'labeled' | 'snoozed' | 'rated'
  conversation_id: string
  details: StoredDetails
  created_at: string
}

export type PastRating = {
  message_id: string
  /** The closing of the episode. */
  closed_at: string
  member_id: string | null
  state: 'asked' | 'rated'
  asked_at: string
  rating: number | null
  rated_at: string | null
  thanks_id: string | null
  comment_until: string | null
  comment: string | null
}

export type PastRecipient = {
  place: number
  contact_id: string
  phone: string | null
  message: PastMessage | undefined
}
