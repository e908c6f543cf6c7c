/** Request and response types of the API. Generated from the OpenAPI document by `npm run sdk-types`. */
export type AddSegmentContactsResult = {
  segment_id: string
  /** The number of ids in the request. */
  requested: number
  /** The number of contacts that were added. */
  added: number
}

export type AddedRecipients = {
  /** The number of recipients that were added. */
  added: number
  skipped: ({
    /** The position in the request, from 0. */
    index: number
    /** Not a phone number, a missing value, or a number that the draft has already. */
    reason: string
  })[]
}

export type Automation = {
  id: string
  name: string
  description: string
  /** `draft`: never published. `paused`: starts no new runs. */
  state: "draft" | "active" | "paused"
  /** Its place among the automations of the workspace, from 0. */
  position: number
  /** The newest published version, which new runs use; 0 before the first. */
  version: number
  /** The definition of that version. */
  definition: Record<string, unknown> | null
  /** The definition that is edited. Null: there are no changes since that version. */
  draft: Record<string, unknown> | null
  /** Of the last 7 days, at most 10,000: how many were started, and how they ended. */
  recent_runs: {
    started: number
    open: number
    finished: number
    handed_over: number
    person: number
    failed: number
    other: number
  }
  last_error: {
    run_id: string
    at: string
    error: string
  } | null
  created_at: string
  updated_at: string
}

export type AutomationChange = {
  name?: string | undefined
  description?: string | undefined
  /** Its new place, from 0. */
  position?: number | undefined
}

export type AutomationDefinition = Record<string, unknown>

export type AutomationDryRun = {
  /** What was tried. */
  source: "definition" | "draft" | "version"
  since: string
  until: string
  /** Of all runs, by how they would have ended. */
  counts: {
    runs: number
    /** In which at least one run would have started. */
    conversations: number
    /** That the runs would have sent. */
    messages: number
    /** Runs that would still be open. */
    open: number
    finished: number
    handed_over: number
    person: number
    timeout: number
    opted_out: number
    failed: number
    limit_messages: number
    limit_chain: number
    call: number
  }
  /** The conversations that were read. */
  conversation_count: number
  /** Whether all of the past was read. The notes say what was not. */
  is_complete: boolean
  /** What the dry run cannot know, in plain English. */
  notes: (string)[]
  /** The newest runs, at most 200, newest first. */
  runs: (DryRunRun)[]
}

export type AutomationDryRunRequest = {
  definition?: AutomationDefinition | undefined
  /** The length of the past; 7 when absent. */
  days?: number | undefined
}

export type AutomationPause = {
  end_runs?: boolean | undefined
}

export type AutomationRun = {
  id: string
  automation_id: string
  automation_name: string
  version: number
  contact_id: string
  contact_name: string | null
  conversation_id: string | null
  /** The message of the customer that started it. */
  message_id: string | null
  state: "running" | "waiting" | "ended"
  /** Why it ended. */
  reason: "finished" | "handed_over" | "person" | "timeout" | "opted_out" | "merged" | "failed" | "limit_messages" | "limit_chain" | "limit_runs" | "paused" | "deleted" | null
  error: string | null
  /** The step at which it is, as a JSON path in the definition. */
  path: string | null
  answers: Record<string, unknown>
  due_at: string | null
  started_at: string
  ended_at: string | null
  /** The name of the member who took over. */
  ended_by: string | null
}

export type AutomationRunDetail = {
  id: string
  automation_id: string
  automation_name: string
  version: number
  contact_id: string
  contact_name: string | null
  conversation_id: string | null
  /** The message of the customer that started it. */
  message_id: string | null
  state: "running" | "waiting" | "ended"
  /** Why it ended. */
  reason: "finished" | "handed_over" | "person" | "timeout" | "opted_out" | "merged" | "failed" | "limit_messages" | "limit_chain" | "limit_runs" | "paused" | "deleted" | null
  error: string | null
  /** The step at which it is, as a JSON path in the definition. */
  path: string | null
  answers: Record<string, unknown>
  due_at: string | null
  started_at: string
  ended_at: string | null
  /** The name of the member who took over. */
  ended_by: string | null
  /** The definition of its version. */
  definition: Record<string, unknown>
  /** What it did, oldest first. Kept for 90 days. */
  steps: (AutomationStep)[]
}

export type AutomationSecret = {
  id: string
  secret: string
}

export type AutomationStart = {
  conversation_ids: (string)[]
}

export type AutomationStep = {
  id: string
  path: string
  type: string
  outcome: "done" | "sent" | "unknown" | "asked" | "answered" | "repeated" | "waiting" | "failed" | "stopped"
  reason: string | null
  /** What the step got: an answer of the customer, a response of a URL. */
  input: unknown
  message_id: string | null
  created_at: string
}

export type AvailabilityReport = {
  name: "availability"
  from_day: string
  /** The last day, included. */
  to_day: string
  /** The days are those of this zone: the workspace’s. */
  time_zone: string
  interval: "day" | "week" | "month"
  /** The time zone of the workspace has changed, and its days are being counted again. `time_zone` is still the former one. */
  is_rebuilding: boolean
  /** Of all rows, up to now. */
  totals: {
    available_seconds: number
    away_seconds: number
    /** The rest of the time since the member was added. */
    offline_seconds: number
  }
  /** As many days before. */
  previous: {
    from_day: string
    to_day: string
    available_seconds: number
    away_seconds: number
    /** The rest of the time since the member was added. */
    offline_seconds: number
  }
  intervals: ({
    /** Its first day in the period. Weeks begin on Monday. */
    start: string
    available_seconds: number
    away_seconds: number
    /** The rest of the time since the member was added. */
    offline_seconds: number
  })[]
  /** One per member, without viewers. */
  rows: ({
    id: string
    name: string | null
    /** Now. */
    state: "available" | "away" | "offline"
    available_seconds: number
    away_seconds: number
    /** The rest of the time since the member was added. */
    offline_seconds: number
    previous: {
      available_seconds: number
      away_seconds: number
      /** The rest of the time since the member was added. */
      offline_seconds: number
    }
  })[]
}

export type Broadcast = {
  id: string
  /** Can be empty in a draft of a member. */
  name: string
  /** `draft` until it is started; `sent` when no recipient is pending. */
  status: "draft" | "scheduled" | "sending" | "sent" | "canceled"
  template: {
    name: string
    language: string
  }
  /** The number that sends it. Null when the workspace has none. */
  connection_id: string | null
  segment_id: string | null
  /** All recipients, each number once; 0 for a segment until sending starts. */
  total_count: number
  /** Recipients that were not sent to yet or have no outcome yet. */
  pending_count: number
  /** Recipients whose message the channel accepted and that did not fail later. */
  sent_count: number
  /** Of those, delivered. Includes the messages that were read. */
  delivered_count: number
  /** Of those, read. */
  read_count: number
  /** Recipients whose message the channel refused or that failed later. */
  failed_count: number
  /** Recipients that were not sent to: no usable number, a missing value, opted out, or the broadcast was canceled. */
  skipped_count: number
  /** No recipient is sent to now. If the channel does not answer, the broadcast continues by itself; otherwise a member resumes it. */
  is_paused: boolean
  /** The reason, with the time of the next attempt if the channel does not answer. Null when it is not paused or a member paused it. */
  paused_reason: string | null
  created_at: string
  scheduled_at: string | null
  started_at: string | null
  completed_at: string | null
}

export type BroadcastRecipient = {
  /** The phone number; null for a contact without one, and after the contact was erased. */
  to: string | null
  /** Null until the contact exists. */
  contact_id: string | null
  status: "pending" | "sent" | "delivered" | "read" | "failed" | "skipped"
  /** Why the recipient was skipped or the message failed. */
  reason: string | null
  /** Null until the message exists. */
  message_id: string | null
}

export type CheckedBroadcast = {
  /** The number of recipients that would be sent to, as far as is known now. */
  recipient_count: number
  /** The number of recipients that would be skipped. */
  skipped_count: number
}

export type CheckedDefinition = {
  /** Always true: a definition that is not valid is refused. */
  valid: boolean
  /** The definition as the service stores it: the fields in a fixed order, without `$schema`. */
  definition: Record<string, unknown>
  /** The steps on all levels, in their order. */
  steps: ({
    /** The JSON path of the step in the definition. */
    path: string
    /** How many steps are around it. */
    depth: number
    /** The step on one line. */
    text: string
  })[]
}

export type CheckedMessage = {
  /** The number in E.164. */
  to: string
  /** Null when sending would create the contact. */
  contact_id: string | null
}

export type Connection = {
  id: string
  channel: "msgapp" | "social" | "web"
  /** Unique in the workspace. */
  name: string
  /** The phone number in E.164 (`msgapp`), the user name (`social`) or the host of the site (`web`). Null until it is known. */
  address: string | null
  /** The connection of its channel that is used when nothing else decides. */
  is_default: boolean
  /** `failing`: its last use or check failed. `disconnected`: it is kept for its conversations and unfinished broadcasts. */
  status: "connected" | "disconnected" | "failing"
  created_at: string
}

export type Contact = {
  id: string
  /** E.164. Null for a contact without a number. */
  phone: string | null
  social_username: string | null
  /** The channels on which the contact can be reached. */
  channels: ("msgapp" | "social" | "web")[]
  name: string | null
  email: string | null
  company: string | null
  avatar_url: string | null
  tags: (Tag)[]
  /** Fields of your own, at most 50. */
  attributes: Record<string, string | number | boolean>
  /** Receives no broadcasts. */
  opted_out: boolean
  created_at: string
  updated_at: string
  /** How channels know the contact, the last seen first, at most 100. Only in `GET /contacts/{id}`. */
  identities?: (Identity)[] | undefined
}

export type ContactBatch = {
  /** Bodies of `POST /contacts`. */
  contacts: (NewContact)[]
}

export type ContactBatchResult = {
  /** The position of the item, from 0. */
  index: number
  id?: string | undefined
  /** False for a number that was known. */
  created?: boolean | undefined
  /** Why the item was refused. `id` and `created` are absent. */
  error?: {
    code: "bad_request" | "invalid_request" | "msgapp_not_configured" | "template_malformed" | "unauthorized" | "plan_limit_reached" | "subscription_lapsed" | "forbidden" | "not_found" | "rate_limited" | "internal" | "platform_error"
    message: string
  } | undefined
}

export type ContactChanges = {
  /** White space at both ends is removed. An empty text is stored as null. */
  name?: string | null | undefined
  /** White space at both ends is removed. An empty text is stored as null. */
  email?: string | null | undefined
  /** White space at both ends is removed. An empty text is stored as null. */
  company?: string | null | undefined
  /** Tag names, 1 to 80 characters each, at most 100. Tags that do not exist are created. */
  tags?: (string)[] | undefined
  /** Merged into the stored attributes; null removes one. A contact has at most 50. */
  attributes?: Record<string, string | number | boolean | null> | undefined
  /** Receives no broadcasts. */
  opted_out?: boolean | undefined
  /** Tag names, 1 to 80 characters each, at most 100. Added to the tags of the contact. Not together with `tags`. */
  add_tags?: (string)[] | undefined
  /** Tag names, 1 to 80 characters each, at most 100. Removed from the tags of the contact. Not together with `tags`. */
  remove_tags?: (string)[] | undefined
  /** Cannot be changed. The current number is accepted. */
  phone?: string | undefined
}

export type ContactCreated = {
  /** Identical across retries: deduplicate on it. */
  id: string
  event: "contact.created"
  /** When it happened, not when it was delivered. */
  occurred_at: string
  /** The workspace. */
  account_id: string
  data: {
    contact_id: string
    /** E.164. Null for a contact without a number. */
    phone: string | null
    name: string | null
    /** Only of a contact from a `social` thread. */
    social_username?: string | null | undefined
    contact: Contact
  }
}

export type ContactIds = {
  contact_ids: (string)[]
}

export type ContactMerge = {
  /** The contact that is merged and then gone. */
  contact_id: string
}

export type Conversation = {
  id: string
  channel: "msgapp" | "social" | "web"
  /** The number, social account or site. Replies leave from it. */
  connection: {
    id: string
    /** Unique in the workspace. */
    name: string
    /** The phone number in E.164 (`msgapp`), the user name (`social`) or the host of the site (`web`). Null until it is known. */
    address: string | null
  } | null
  contact_id: string
  status: "open" | "pending" | "closed"
  /** The member it is assigned to. */
  assigned_agent_id: string | null
  /** The team it is assigned to, with or without a member (`GET /teams`). */
  assigned_team_id: string | null
  last_message_text: string | null
  last_message_at: string | null
  /** When the service received the last message of the customer. The 24-hour window starts at the time that the channel gives for it, which can be earlier. */
  last_inbound_at: string | null
  /** Messages of the customer since a member read the conversation or replied in it. At least 1 after a member marked it as unread. Messages of a blocked contact do not count. */
  unread_count: number
  /** `bot` while an automation waits for an answer of the customer or is about to ask. Otherwise `team`. */
  handled_by: "team" | "bot"
  /** By name. */
  labels: (Label)[]
  /** The open episode: the work since its first message. Null when there is none (`GET /episodes`). */
  episode: {
    id: string
    opened_at: string
    /** Whose message opened it. */
    opened_by: "customer" | "member"
    first_assigned_at: string | null
    first_reply_at: string | null
    first_reply_by: string | null
    /** Replies of members. */
    replies: number
    /** Messages of the customer. */
    customer_messages: number
    reopened_from: string | null
  } | null
  /** The status is `pending` until then. Null when the conversation is not snoozed. */
  snoozed_until: string | null
  created_at: string
  updated_at: string
  contact: EmbeddedContact
}

export type ConversationChanges = {
  status?: "open" | "pending" | "closed" | undefined
  /** A member who is not a viewer (`GET /members`). Null unassigns. */
  assigned_agent_id?: string | null | undefined
  /** A team (`GET /teams`). Null: of no team. */
  assigned_team_id?: string | null | undefined
  /** A date-time within the next 366 days: the status is `pending` until then. Null ends the snooze. */
  snoozed_until?: string | null | undefined
  /** Names: exactly these labels. Labels that the workspace lacks are created. */
  labels?: (string)[] | undefined
}

export type ConversationCreated = {
  /** Identical across retries: deduplicate on it. */
  id: string
  event: "conversation.created"
  /** When it happened, not when it was delivered. */
  occurred_at: string
  /** The workspace. */
  account_id: string
  data: {
    conversation_id: string
    contact_id: string
    conversation: Conversation
  }
}

export type CountedSegment = {
  id: string
  name: string
  description: string | null
  /** Hex, assigned by the service. */
  color: string
  kind: "static" | "dynamic"
  filter: StoredFilter
  created_at: string
  updated_at: string
  /** The exact number of members now. */
  member_count: number
}

export type CountedTag = {
  id: string
  name: string
  /** Hex, assigned by the service. */
  color: string
  /** How many contacts have the tag. */
  contact_count: number
}

export type CreateContactsResult = (ContactBatchResult)[]

export type CreatedWebhook = {
  id: string
  url: string
  events: ("message.received" | "message.status_updated" | "conversation.created" | "contact.created")[]
  /** Becomes false after 15 consecutive failed events; nothing is sent while false. */
  is_active: boolean
  /** The time of the last success. */
  last_delivery_at: string | null
  /** Consecutive failed events; a success resets it to 0. */
  failure_count: number
  created_at: string
  /** `api`, or the automation tool that was connected in the dashboard. No effect on delivery. */
  provider: "api" | "tool_a" | "tool_b"
  /** Signs the deliveries. Returned only on creation and rotation. */
  secret: string
}

export type DeleteAutomationResult = {
  id: string
  /** Always true. */
  deleted: boolean
}

export type DeleteBroadcastResult = {
  id: string
  /** Always true. */
  deleted: boolean
}

export type DeleteContactResult = {
  id: string
  /** Always true. */
  deleted: boolean
}

export type DeleteSegmentResult = {
  id: string
  /** Always true. */
  deleted: boolean
}

export type DeleteWebhookResult = {
  id: string
  /** Always true. */
  deleted: boolean
}

export type DryRunRun = {
  contact_id: string
  contact_name: string | null
  conversation_id: string | null
  /** The message of the customer that would have started it. */
  message_id: string | null
  message_text: string | null
  started_at: string
  ended_at: string | null
  /** Why it would have ended. `call`: the response of a server is not known, so it cannot be followed further. Null: it would still be open. */
  reason: "finished" | "handed_over" | "person" | "timeout" | "opted_out" | "failed" | "limit_messages" | "limit_chain" | "call" | null
  error: string | null
  answers: Record<string, unknown>
  /** The messages that it would have sent. */
  message_count: number
  /** What it would have done, oldest first; at most 100 steps. */
  steps: (DryRunStep)[]
}

export type DryRunStep = {
  /** The JSON path of the step in the definition. */
  path: string
  type: string
  at: string
  outcome: "done" | "sent" | "unknown" | "asked" | "answered" | "repeated" | "waiting" | "failed" | "stopped"
  /** The message with its fields filled, the note, or the changes in words. */
  text: string | null
  reason: string | null
  /** The answer of the customer. */
  input: string | null
}

export type EmbeddedContact = {
  id: string
  phone: string | null
  social_username: string | null
  name: string | null
  email: string | null
  company: string | null
  tags: (Tag)[]
}

export type Episode = {
  /** In general the id of the message that opened it. */
  id: string
  conversation_id: string
  /** The number, social account or site. */
  connection_id: string | null
  /** When its first message was stored. */
  opened_at: string
  /** Whose message opened it. */
  opened_by: "customer" | "member"
  /** When it was first assigned to a member. The time of the opening if the conversation was assigned then. */
  first_assigned_at: string | null
  /** When a member first replied. Messages of automations, broadcasts and API keys are no reply. The time of the opening if a member opened it. */
  first_reply_at: string | null
  /** The member who first replied. Null without a reply, and for one from the provider's own app. */
  first_reply_by: string | null
  /** Replies of members. */
  replies: number
  /** Messages of the customer. */
  customer_messages: number
  /** Null while it is open. */
  closed_at: string | null
  /** `silence`: an automation that waits for silence. `block`: a member blocked the contact. Null while it is open, and for closings before episodes were recorded if the timeline does not say it. */
  closed_by: "member" | "automation" | "api" | "silence" | "block" | null
  /** The member, the API key or the run of the automation that closed it. */
  closed_by_id: string | null
  /** The episode before, if it closed less than 24 hours before this one opened. */
  reopened_from: string | null
  /** The team of the conversation: now, or when the episode closed. */
  team_id: string | null
  /** The member to whom the conversation is assigned: now, or when the episode closed. */
  member_id: string | null
  /** Of the conversation: now, or when the episode closed, without labels that were deleted. By name. */
  labels: (Label)[]
  /** Seconds in office hours from the opening to the first reply. Computed within a minute. */
  office_first_reply_s: number | null
  /** Seconds in office hours from the opening to the closing. Computed within a minute. */
  office_closing_s: number | null
  /** When a field of the episode changed. Counts, team, member and labels of an open episode do not change it; its closing does. */
  updated_at: string
}

export type ErrorBody = {
  error: {
    /** Stable; branch on this. */
    code: "bad_request" | "invalid_request" | "msgapp_not_configured" | "template_malformed" | "unauthorized" | "plan_limit_reached" | "subscription_lapsed" | "forbidden" | "not_found" | "rate_limited" | "internal" | "platform_error"
    /** For people; may change. */
    message: string
    /** Present with the code `platform_error`. */
    details?: PlatformErrorDetails | undefined
  }
}

export type Event = MessageReceived | MessageStatusUpdated | ConversationCreated | ContactCreated

export type Filter = {
  match: "all" | "any"
  rules: (FilterRule | FilterGroup)[]
}

export type FilterGroup = {
  match?: "all" | "any" | undefined
  field?: "group" | undefined
  /** The same as `match`. */
  op?: "all" | "any" | undefined
  /** Ignored. */
  value?: string | undefined
  rules: (FilterRule)[]
}

export type FilterRule = {
  /** Fields and their ops: `tag` has, not_has; `name` is, is_not, contains, not_contains, starts_with, is_set, is_not_set; `email` is, is_not, contains, not_contains, starts_with, is_set, is_not_set; `company` is, is_not, contains, not_contains, starts_with, is_set, is_not_set; `phone` is, is_not, contains, not_contains, starts_with, is_set, is_not_set; `social_username` is, is_not, contains, not_contains, starts_with, is_set, is_not_set; `channel` has, not_has; `created_at` before, after, is_set, is_not_set; `opted_out` is; `attributes.NAME` is, is_not, contains, not_contains, starts_with, is_set, is_not_set, gt, lt; `last_inbound_at` before, after, is_set, is_not_set; `connection` has, not_has; `conversation_status` is, is_not. */
  field: "tag" | "name" | "email" | "company" | "phone" | "social_username" | "channel" | "created_at" | "opted_out" | "last_inbound_at" | "connection" | "conversation_status" | unknown
  /** One of the ops of the field. */
  op: "has" | "not_has" | "is" | "is_not" | "contains" | "not_contains" | "starts_with" | "is_set" | "is_not_set" | "before" | "after" | "gt" | "lt"
  /** Required except for `is_set` and `is_not_set`. Text is compared without regard to case. A tag is its id or name; a time is a date-time, or an age such as `30d` or `12h`. */
  value?: string | undefined
}

export type GetAvailabilityReportQuery = {
  /** The first day, in the time zone of the workspace; 29 days before `to_day` when absent. */
  from_day?: string | undefined
  /** The last day, included; today when absent. At most 366 days. */
  to_day?: string | undefined
  /** Of `intervals`: `day` when absent. */
  interval?: "day" | "week" | "month" | undefined
  /** Only the members who are in this team now; `none`: in no team. */
  team_id?: string | "none" | undefined
  /** Only this member. */
  member_id?: string | "none" | undefined
}

export type GetReportQuery = {
  /** The first day, in the time zone of the workspace; 29 days before `to_day` when absent. */
  from_day?: string | undefined
  /** The last day, included; today when absent. At most 366 days. */
  to_day?: string | undefined
  /** Of `intervals`: `day` when absent. */
  interval?: "day" | "week" | "month" | undefined
  /** `true`: times count office hours only. */
  office_hours?: "true" | "false" | undefined
  /** Only the episodes of this team; `none`: those without one. */
  team_id?: string | "none" | undefined
  /** Only the episodes of this connection; `none`: those without one. */
  connection_id?: string | "none" | undefined
  /** Only the episodes of this member; `none`: those without one. */
  member_id?: string | "none" | undefined
  /** Only the episodes of this label; `none`: those without one. */
  label_id?: string | "none" | undefined
}

export type GetSatisfactionReportQuery = {
  /** The first day, in the time zone of the workspace; 29 days before `to_day` when absent. */
  from_day?: string | undefined
  /** The last day, included; today when absent. At most 366 days. */
  to_day?: string | undefined
  /** Of `intervals`: `day` when absent. */
  interval?: "day" | "week" | "month" | undefined
  /** Only the episodes of this team; `none`: those without one. */
  team_id?: string | "none" | undefined
  /** Only the episodes of this connection; `none`: those without one. */
  connection_id?: string | "none" | undefined
  /** Only the episodes of this member; `none`: those without one. */
  member_id?: string | "none" | undefined
  /** Only the episodes of this label; `none`: those without one. */
  label_id?: string | "none" | undefined
  /** What the rows are: `member` when absent. */
  by?: "member" | "team" | "connection" | "label" | undefined
}

export type GetTargetsReportQuery = {
  /** The first day, in the time zone of the workspace; 29 days before `to_day` when absent. */
  from_day?: string | undefined
  /** The last day, included; today when absent. At most 366 days. */
  to_day?: string | undefined
  /** Of `intervals`: `day` when absent. */
  interval?: "day" | "week" | "month" | undefined
  /** Only the episodes of this team; `none`: those without one. */
  team_id?: string | "none" | undefined
  /** Only the episodes of this connection; `none`: those without one. */
  connection_id?: string | "none" | undefined
  /** Only the episodes of this member; `none`: those without one. */
  member_id?: string | "none" | undefined
  /** Only the episodes of this label; `none`: those without one. */
  label_id?: string | "none" | undefined
  /** Only the outcomes of this target. */
  target_id?: string | "none" | undefined
  /** What the rows are: `target` when absent. */
  by?: "target" | "member" | "team" | "connection" | "label" | undefined
}

export type GetTemplateQuery = {
  /** `en_US` when absent. */
  language?: string | undefined
  /** The provider account. When absent, that of the default number is preferred. */
  account?: string | undefined
}

export type Identity = {
  channel: "msgapp" | "social" | "web"
  /** The phone number, the user id of the provider or the id of the visitor. */
  address: string
  /** The connection that knows a user id or visitor. Null for a phone number, which every number of the workspace can reach. */
  connection_id: string | null
  /** The customer's last message or visit with this identity. Null if there is none. */
  last_seen_at: string | null
}

export type Interactive = InteractiveButtons | InteractiveList | InteractiveLink

export type InteractiveButtons = {
  kind: "buttons"
  body: string
  header?: string | undefined
  footer?: string | undefined
  buttons: ({
    /** Returned as `interactive_reply_id` of the message that a tap sends. Unique in the message. */
    id: string
    title: string
  })[]
}

export type InteractiveLink = {
  kind: "link"
  body: string
  /** The label of the button. */
  text: string
  /** An https URL. */
  url: string
}

export type InteractiveList = {
  kind: "list"
  body: string
  /** The label of the button that opens the list. */
  button: string
  sections: ({
    title: string
    rows: ({
      /** Returned as `interactive_reply_id` of the message that a tap sends. Unique in the message. */
      id: string
      title: string
      description?: string | undefined
    })[]
  })[]
}

export type Label = {
  id: string
  name: string
  /** Hex, assigned by the service. */
  color: string
}

export type ListAutomationRunsQuery = {
  /** Page size, 1 to 100; 50 when absent or unusable. */
  limit?: number | undefined
  /** The `meta.next_cursor` of the page before. */
  cursor?: string | undefined
  /** All when absent. */
  state?: "open" | "ended" | undefined
  /** Why they ended. */
  reason?: string | undefined
}

export type ListBroadcastRecipientsQuery = {
  /** Page size, 1 to 100; 50 when absent or unusable. */
  limit?: number | undefined
  /** The `meta.next_cursor` of the page before. */
  cursor?: string | undefined
  /** Only recipients of this status. */
  status?: "pending" | "sent" | "delivered" | "read" | "failed" | "skipped" | undefined
}

export type ListBroadcastsQuery = {
  /** Page size, 1 to 100; 50 when absent or unusable. */
  limit?: number | undefined
  /** The `meta.next_cursor` of the page before. */
  cursor?: string | undefined
  /** Only broadcasts of this status. */
  status?: "draft" | "scheduled" | "sending" | "sent" | "canceled" | undefined
}

export type ListContactsQuery = {
  /** Page size, 1 to 100; 50 when absent or unusable. */
  limit?: number | undefined
  /** The `meta.next_cursor` of the page before. */
  cursor?: string | undefined
  /** Part of a name, phone number, e-mail address or company, without regard to case. One or two characters match beginnings only. */
  search?: string | undefined
  /** A tag, by id or name. */
  tag?: string | undefined
  /** Reachable on this channel. */
  channel?: "msgapp" | "social" | "web" | undefined
  /** Exactly this phone number, in any spelling; the default country applies without a country code. */
  phone?: string | undefined
  /** Exactly this e-mail address, without regard to case. */
  email?: string | undefined
  /** Only contacts changed after this date-time, oldest change first, for synchronisation. Read all pages, then continue with the `updated_at` of the last row: no change is skipped. */
  updated_after?: string | undefined
}

export type ListConversationsQuery = {
  /** Page size, 1 to 100; 50 when absent or unusable. */
  limit?: number | undefined
  /** The `meta.next_cursor` of the page before. */
  cursor?: string | undefined
  /** `activity`: by the last message, newest first. By creation when absent. Not together with `updated_after`. */
  sort?: "activity" | undefined
  /** All when absent. */
  status?: "open" | "pending" | "closed" | undefined
  /** Only conversations of this contact. */
  contact_id?: string | undefined
  /** All when absent. */
  channel?: "msgapp" | "social" | "web" | undefined
  /** Only conversations of this connection (`GET /connections`). */
  connection_id?: string | undefined
  /** A uuid: only conversations of this member. `none`: only unassigned ones. */
  assigned_agent_id?: string | "none" | undefined
  /** A uuid: only conversations of this team. `none`: only those of no team. */
  assigned_team_id?: string | "none" | undefined
  /** The id or the name of a label. */
  label?: string | undefined
  /** `bot`: only conversations that an automation handles. `team`: only the others. */
  handled_by?: "team" | "bot" | undefined
  /** Only conversations changed after this date-time, oldest change first, for synchronisation. Read all pages, then continue with the `updated_at` of the last row: no change is skipped. */
  updated_after?: string | undefined
}

export type ListEpisodesQuery = {
  /** Page size, 1 to 100; 50 when absent or unusable. */
  limit?: number | undefined
  /** The `meta.next_cursor` of the page before. */
  cursor?: string | undefined
  /** Only episodes of this conversation. */
  conversation_id?: string | undefined
  /** Only episodes changed after this date-time, oldest change first, for synchronisation. Read all pages, then continue with the `updated_at` of the last row: no change is skipped. */
  updated_after?: string | undefined
}

export type ListMembersQuery = {
  /** Page size, 1 to 100; 50 when absent or unusable. */
  limit?: number | undefined
  /** The `meta.next_cursor` of the page before. */
  cursor?: string | undefined
}

export type ListMessagesQuery = {
  /** Page size, 1 to 100; 50 when absent or unusable. */
  limit?: number | undefined
  /** The `meta.next_cursor` of the page before. */
  cursor?: string | undefined
}

export type ListNotesQuery = {
  /** Page size, 1 to 100; 50 when absent or unusable. */
  limit?: number | undefined
  /** The `meta.next_cursor` of the page before. */
  cursor?: string | undefined
}

export type ListScheduledMessagesQuery = {
  /** Page size, 1 to 100; 50 when absent or unusable. */
  limit?: number | undefined
  /** The `meta.next_cursor` of the page before. */
  cursor?: string | undefined
  /** `open`: those that wait, are held or being sent, and those that failed before the channel had them. */
  state?: "scheduled" | "held" | "sending" | "sent" | "failed" | "canceled" | "open" | undefined
}

export type ListSegmentContactsQuery = {
  /** Page size, 1 to 100; 50 when absent or unusable. */
  limit?: number | undefined
  /** The `meta.next_cursor` of the page before. */
  cursor?: string | undefined
}

export type ListSegmentsQuery = {
  /** Page size, 1 to 100; 50 when absent or unusable. */
  limit?: number | undefined
  /** The `meta.next_cursor` of the page before. */
  cursor?: string | undefined
  /** Only segments of this kind. */
  kind?: "static" | "dynamic" | undefined
}

export type ListTagsQuery = {
  /** The `meta.next_cursor` of the page before. */
  cursor?: string | undefined
}

export type ListTemplatesQuery = {
  /** Page size, 1 to 100; 50 when absent or unusable. */
  limit?: number | undefined
  /** The `meta.next_cursor` of the page before. */
  cursor?: string | undefined
  /** Only templates of this status, in any case: `approved`. */
  status?: string | undefined
  /** Only templates in this language: `en_US`. */
  language?: string | undefined
  /** A part of the name, in any case. */
  search?: string | undefined
  /** Only templates of this provider account. */
  account?: string | undefined
}

export type ListWebhookDeliveriesQuery = {
  /** Page size, 1 to 100; 50 when absent or unusable. */
  limit?: number | undefined
  /** The `meta.next_cursor` of the page before. */
  cursor?: string | undefined
  /** Only deliveries of this status. */
  status?: "pending" | "delivered" | "failed" | "canceled" | undefined
}

export type Location = {
  latitude: number
  longitude: number
  name?: string | undefined
  address?: string | undefined
}

export type Me = {
  account: {
    id: string
    name: string
  }
  key: {
    id: string
    scopes: ("messages:send" | "messages:read" | "contacts:read" | "contacts:write" | "contacts:erase" | "conversations:read" | "conversations:write" | "broadcasts:send" | "automations:manage" | "webhooks:manage")[]
  }
  /** The version of the service, such as 1.4.2. */
  version: string
}

export type Member = {
  id: string
  name: string | null
  email: string
  /** A viewer cannot be assigned. */
  role: "owner" | "admin" | "agent" | "viewer"
  /** Whether the member has the dashboard open. */
  is_online: boolean
}

export type Message = {
  id: string
  conversation_id: string
  direction: "inbound" | "outbound"
  /** `agent` is a member or the API, `bot` is a broadcast. */
  sender_type: "customer" | "agent" | "bot"
  content_type: "text" | "image" | "video" | "audio" | "document" | "sticker" | "location" | "contacts" | "interactive" | "button" | "reaction" | "template" | "unsupported"
  /** The text, the caption, the title of a tapped button, an emoji. */
  content_text: string | null
  /** Structured content in the format of the channel: an order, a form response, contact cards, coordinates, a referral, a shared link. For a message that you sent: `interactive` or `location`, as in the request. Otherwise null. */
  content: Record<string, unknown> | null
  /** Null until the media of a customer has been fetched. */
  media_url: string | null
  template_name: string | null
  /** The broadcast that sent it. */
  broadcast_id: string | null
  /** The primary channel's id of the message; delivery events refer to it. */
  msgapp_message_id: string | null
  /** The channel's id of the message if there is one, otherwise our id. */
  message_id: string
  /** `received` for inbound messages. Outbound messages start as `pending`. */
  status: "received" | "pending" | "sent" | "failed" | "delivered" | "read"
  /** Why the message failed; null while its status is not `failed`. */
  error: {
    /** The channel's error code, or `platform_error` if it sent none. */
    code: string
    /** A readable explanation; may change. */
    message: string
  } | null
  reply_to_message_id: string | null
  /** The id of the tapped button or row. */
  interactive_reply_id: string | null
  deleted_at: string | null
  created_at: string
}

export type MessageReceived = {
  /** Identical across retries: deduplicate on it. */
  id: string
  event: "message.received"
  /** When it happened, not when it was delivered. */
  occurred_at: string
  /** The workspace. */
  account_id: string
  data: MsgappMessageReceived | SocialMessageReceived | WebMessageReceived
}

export type MessageStatusUpdated = {
  /** Identical across retries: deduplicate on it. */
  id: string
  event: "message.status_updated"
  /** When it happened, not when it was delivered. */
  occurred_at: string
  /** The workspace. */
  account_id: string
  data: {
    /** Null when the message failed before the channel gave it an id. */
    msgapp_message_id: string | null
    conversation_id: string
    status: "sent" | "delivered" | "read" | "failed"
    message: Message
  }
}

export type MsgappMessageReceived = {
  /** Never present on the primary channel. */
  channel?: undefined
  conversation_id: string
  contact_id: string
  content_type: "text" | "image" | "video" | "audio" | "document" | "sticker" | "location" | "contacts" | "interactive" | "button" | "reaction" | "template" | "unsupported"
  /** The text, the caption, the title of a tapped button, an emoji. */
  text: string | null
  message: Message
  contact: Contact
  msgapp_message_id: string
}

export type NewAutomation = {
  name: string
  description?: string | undefined
  definition?: AutomationDefinition | undefined
}

export type NewBroadcast = {
  /** 1 to 80 characters. */
  name: string
  template: TemplateSend
  /** The number that sends it: its connection id, or the number itself. Without it the default number. */
  from?: string | undefined
  /** Each number gets one message. The `params` of a recipient replace all `params` of the template. */
  recipients?: (Recipient)[] | undefined
  /** Instead of `recipients`. The members are those at the time when sending starts. */
  segment_id?: string | undefined
  /** The time of the start. Up to 5 minutes in the past means now. */
  scheduled_at?: string | undefined
  /** True creates a draft. Add recipients with `POST /broadcasts/{id}/recipients`, then start it. Needs neither `recipients` nor `segment_id`. A draft is deleted after 30 days; a workspace has at most 1,000. */
  draft?: boolean | undefined
}

export type NewContact = {
  /** A phone number. A number without a country code is in the default country of the workspace. */
  phone: string
  /** White space at both ends is removed. An empty text is stored as null. */
  name?: string | null | undefined
  /** White space at both ends is removed. An empty text is stored as null. */
  email?: string | null | undefined
  /** White space at both ends is removed. An empty text is stored as null. */
  company?: string | null | undefined
  /** Tag names, 1 to 80 characters each, at most 100. Tags that do not exist are created. */
  tags?: (string)[] | undefined
  /** Merged into the stored attributes; null removes one. A contact has at most 50. */
  attributes?: Record<string, string | number | boolean | null> | undefined
  /** Receives no broadcasts. */
  opted_out?: boolean | undefined
  /** For a number that is known: `keep` changes nothing, `update` applies the fields present. `keep` when absent. */
  if_exists?: "keep" | "update" | undefined
}

export type NewMessage = {
  /** A phone number. Without a country code the default country of the workspace applies. */
  to: string
  /** The number that sends: its connection id, or the number itself. Without it the number of the conversation in which the customer wrote last, or else the default number. */
  from?: string | undefined
  /** `text` when absent. */
  type?: "text" | "template" | "image" | "video" | "document" | "audio" | "interactive" | "location" | "reaction" | undefined
  /** The text of a text message, at most 4096 characters; the caption of an image, video or document, at most 1024. */
  text?: string | undefined
  /** A public URL; required for image, video, document and audio. */
  media_url?: string | undefined
  /** Shown in the chat for a document. */
  filename?: string | undefined
  template?: TemplateSend | undefined
  interactive?: Interactive | undefined
  location?: Location | undefined
  reaction?: Reaction | undefined
  /** An earlier message of the same conversation to quote. */
  reply_to_message_id?: string | undefined
  /** The contact's name; replaces the stored name if different. */
  name?: string | undefined
}

export type NewNote = {
  /** 1 to 10,000 characters. Only members see it. It is never sent. */
  text: string
}

export type NewRecipients = {
  recipients: (Recipient)[]
}

export type NewReply = {
  /** `text` when absent. */
  type?: "text" | "template" | "image" | "video" | "document" | "audio" | "interactive" | "location" | "reaction" | undefined
  /** The text of a text message, at most 4096 characters; the caption of an image, video or document, at most 1024. */
  text?: string | undefined
  /** A public URL; required for image, video, document and audio. */
  media_url?: string | undefined
  /** Shown in the chat for a document. */
  filename?: string | undefined
  template?: TemplateSend | undefined
  interactive?: Interactive | undefined
  location?: Location | undefined
  reaction?: Reaction | undefined
  /** An earlier message of the same conversation to quote. */
  reply_to_message_id?: string | undefined
}

export type NewScheduledMessage = {
  /** `text` when absent. */
  type?: "text" | "template" | "image" | "video" | "document" | "audio" | "interactive" | "location" | undefined
  /** The text of a text message, at most 4096 characters; the caption of an image, video or document, at most 1024. */
  text?: string | undefined
  /** A public URL; required for image, video, document and audio. */
  media_url?: string | undefined
  /** Shown in the chat for a document. */
  filename?: string | undefined
  template?: TemplateSend | undefined
  interactive?: Interactive | undefined
  location?: Location | undefined
  /** An earlier message of the same conversation to quote. */
  reply_to_message_id?: string | undefined
  /** When to send it: from now to 90 days ahead. */
  send_at: string
  /** True: if the customer writes before that time, the message is held and not sent. A reaction does not count. False when absent; true for members of the dashboard. */
  hold_if_customer_writes?: boolean | undefined
}

export type NewSegment = {
  /** 1 to 80 characters. Unique in the workspace without regard to case. */
  name: string
  description?: string | null | undefined
  /** `static` when absent. */
  kind?: "static" | "dynamic" | undefined
  filter?: Filter | undefined
}

export type NewWebhook = {
  /** https, without credentials. Every address its name resolves to must be public. */
  url: string
  /** The events to send; duplicates are ignored. */
  events: ("message.received" | "message.status_updated" | "conversation.created" | "contact.created")[]
}

export type Note = {
  id: string
  text: string
  author: {
    type: "member" | "api_key" | "automation"
    /** Of an automation: the id of its run. */
    id: string
    /** The name of the member, the API key or the automation. Null for a removed member. */
    name: string | null
  }
  created_at: string
}

export type PlatformErrorDetails = {
  /** `rejected`: the channel refused the message. `unsent`: nothing reached the channel; you may send the message again, under a new `Idempotency-Key`. `unknown`: the channel may have sent it; a later `message.status_updated` reports the outcome. Parley does not send it again. */
  outcome: "rejected" | "unsent" | "unknown"
  /** Null if the request failed before a message was stored. */
  message_id: string | null
  /** The channel's error code, or null if it sent none. */
  channel_code: string | null
}

export type Reaction = {
  /** A message of the same conversation. */
  message_id: string
  /** One emoji; empty removes the reaction. */
  emoji: string
}

export type Recipient = {
  /** A phone number. A number without a country code is in the default country of the workspace. */
  to: string
  /** The contact's name. Replaces the stored name if it is different. */
  name?: string | undefined
  /** Body values in placeholder order, or an object with the values of each part. */
  params?: (string)[] | TemplateParams | undefined
}

export type RemoveSegmentContactsResult = {
  segment_id: string
  /** The number of ids in the request. */
  requested: number
  /** The number of contacts that were removed. */
  removed: number
}

export type Report = {
  name: "overview" | "members" | "teams" | "labels" | "connections" | "busy_hours"
  from_day: string
  /** The last day, included. */
  to_day: string
  /** The days are those of this zone: the workspace’s. */
  time_zone: string
  interval: "day" | "week" | "month"
  /** The time zone of the workspace has changed, and its days are being counted again. `time_zone` is still the former one. */
  is_rebuilding: boolean
  /** Times are counted in office hours. */
  office_hours: boolean
  /** False while many past episodes are being counted: after an upgrade, for some minutes. */
  is_complete: boolean
  totals: {
    /** Episodes that opened in the period. */
    opened: number
    /** Those of them whose conversation had been closed less than 24 hours before. */
    reopened: number
    /** Episodes that closed in the period. */
    closed: number
    /** Replies of members in the episodes that closed in the period. */
    replies: number
    /** From the opening by the customer to the first reply of a member, of the episodes whose first reply was in the period. */
    first_reply: {
      /** The episodes with such a time. */
      count: number
      /** From a histogram, with an error of at most 2 %. Null without an episode. */
      median_seconds: number | null
      /** Nine tenths of the times are at most this long. The error is that of the median. */
      p90_seconds: number | null
      /** Exact, rounded to a tenth of a second. */
      mean_seconds: number | null
    }
    /** From the opening to the closing, of the episodes that closed in the period. */
    closing: {
      /** The episodes with such a time. */
      count: number
      /** From a histogram, with an error of at most 2 %. Null without an episode. */
      median_seconds: number | null
      /** Nine tenths of the times are at most this long. The error is that of the median. */
      p90_seconds: number | null
      /** Exact, rounded to a tenth of a second. */
      mean_seconds: number | null
    }
    /** Open conversations whose customer waits for a reply of a member now, whatever the period. */
    waiting_now: number
  }
  /** As many days before. */
  previous: {
    from_day: string
    to_day: string
    /** Episodes that opened in the period. */
    opened: number
    /** Those of them whose conversation had been closed less than 24 hours before. */
    reopened: number
    /** Episodes that closed in the period. */
    closed: number
    /** Replies of members in the episodes that closed in the period. */
    replies: number
    /** From the opening by the customer to the first reply of a member, of the episodes whose first reply was in the period. */
    first_reply: {
      /** The episodes with such a time. */
      count: number
      /** From a histogram, with an error of at most 2 %. Null without an episode. */
      median_seconds: number | null
      /** Nine tenths of the times are at most this long. The error is that of the median. */
      p90_seconds: number | null
      /** Exact, rounded to a tenth of a second. */
      mean_seconds: number | null
    }
    /** From the opening to the closing, of the episodes that closed in the period. */
    closing: {
      /** The episodes with such a time. */
      count: number
      /** From a histogram, with an error of at most 2 %. Null without an episode. */
      median_seconds: number | null
      /** Nine tenths of the times are at most this long. The error is that of the median. */
      p90_seconds: number | null
      /** Exact, rounded to a tenth of a second. */
      mean_seconds: number | null
    }
  }
  intervals: ({
    /** Its first day in the period. Weeks begin on Monday. */
    start: string
    /** Episodes that opened in the period. */
    opened: number
    /** Those of them whose conversation had been closed less than 24 hours before. */
    reopened: number
    /** Episodes that closed in the period. */
    closed: number
    /** Replies of members in the episodes that closed in the period. */
    replies: number
    /** From the opening by the customer to the first reply of a member, of the episodes whose first reply was in the period. */
    first_reply: {
      /** The episodes with such a time. */
      count: number
      /** From a histogram, with an error of at most 2 %. Null without an episode. */
      median_seconds: number | null
      /** Nine tenths of the times are at most this long. The error is that of the median. */
      p90_seconds: number | null
      /** Exact, rounded to a tenth of a second. */
      mean_seconds: number | null
    }
    /** From the opening to the closing, of the episodes that closed in the period. */
    closing: {
      /** The episodes with such a time. */
      count: number
      /** From a histogram, with an error of at most 2 %. Null without an episode. */
      median_seconds: number | null
      /** Nine tenths of the times are at most this long. The error is that of the median. */
      p90_seconds: number | null
      /** Exact, rounded to a tenth of a second. */
      mean_seconds: number | null
    }
  })[]
  /** One per member, team, label or connection with a figure. Empty for `overview` and `busy_hours`. */
  rows: ({
    /** Of the member, team, label or connection. Null: episodes without one. */
    id: string | null
    /** Null if it does not exist any more, or if `id` is null. */
    name: string | null
    /** Hex, assigned by the service. */
    color: string | null
    /** Episodes that opened in the period. */
    opened: number
    /** Those of them whose conversation had been closed less than 24 hours before. */
    reopened: number
    /** Episodes that closed in the period. */
    closed: number
    /** Replies of members in the episodes that closed in the period. */
    replies: number
    /** From the opening by the customer to the first reply of a member, of the episodes whose first reply was in the period. */
    first_reply: {
      /** The episodes with such a time. */
      count: number
      /** From a histogram, with an error of at most 2 %. Null without an episode. */
      median_seconds: number | null
      /** Nine tenths of the times are at most this long. The error is that of the median. */
      p90_seconds: number | null
      /** Exact, rounded to a tenth of a second. */
      mean_seconds: number | null
    }
    /** From the opening to the closing, of the episodes that closed in the period. */
    closing: {
      /** The episodes with such a time. */
      count: number
      /** From a histogram, with an error of at most 2 %. Null without an episode. */
      median_seconds: number | null
      /** Nine tenths of the times are at most this long. The error is that of the median. */
      p90_seconds: number | null
      /** Exact, rounded to a tenth of a second. */
      mean_seconds: number | null
    }
    previous: {
      /** Episodes that opened in the period. */
      opened: number
      /** Those of them whose conversation had been closed less than 24 hours before. */
      reopened: number
      /** Episodes that closed in the period. */
      closed: number
      /** Replies of members in the episodes that closed in the period. */
      replies: number
      /** From the opening by the customer to the first reply of a member, of the episodes whose first reply was in the period. */
      first_reply: {
        /** The episodes with such a time. */
        count: number
        /** From a histogram, with an error of at most 2 %. Null without an episode. */
        median_seconds: number | null
        /** Nine tenths of the times are at most this long. The error is that of the median. */
        p90_seconds: number | null
        /** Exact, rounded to a tenth of a second. */
        mean_seconds: number | null
      }
      /** From the opening to the closing, of the episodes that closed in the period. */
      closing: {
        /** The episodes with such a time. */
        count: number
        /** From a histogram, with an error of at most 2 %. Null without an episode. */
        median_seconds: number | null
        /** Nine tenths of the times are at most this long. The error is that of the median. */
        p90_seconds: number | null
        /** Exact, rounded to a tenth of a second. */
        mean_seconds: number | null
      }
    }
    /** Open conversations whose customer waits for a reply of a member now, whatever the period. */
    waiting_now: number
  })[]
  /** Of `busy_hours`: the hours of the week in which something happened. */
  hours: ({
    /** 0 is Monday. */
    weekday: number
    hour: number
    opened: number
    first_replies: number
    closed: number
  })[]
}

export type SatisfactionReport = {
  name: "satisfaction"
  by: "member" | "team" | "connection" | "label"
  from_day: string
  /** The last day, included. */
  to_day: string
  /** The days are those of this zone: the workspace’s. */
  time_zone: string
  interval: "day" | "week" | "month"
  /** The time zone of the workspace has changed, and its days are being counted again. `time_zone` is still the former one. */
  is_rebuilding: boolean
  /** False while many past episodes are being counted: after an upgrade, for some minutes. */
  is_complete: boolean
  totals: {
    /** Questions that were sent in the period. Those that did not reach the customer are not counted. */
    asked: number
    /** Those of them that have a rating by now. The response rate is `answered` / `asked`. */
    answered: number
    /** Ratings that came in the period, whatever day the question was. */
    ratings: number
    /** Of these ratings: how many are 1, 2, 3, 4 and 5. */
    by_rating: (number)[]
    /** Of these ratings: exact, rounded to a hundredth. Null without a rating. */
    mean_rating: number | null
  }
  /** As many days before. */
  previous: {
    from_day: string
    to_day: string
    /** Questions that were sent in the period. Those that did not reach the customer are not counted. */
    asked: number
    /** Those of them that have a rating by now. The response rate is `answered` / `asked`. */
    answered: number
    /** Ratings that came in the period, whatever day the question was. */
    ratings: number
    /** Of these ratings: how many are 1, 2, 3, 4 and 5. */
    by_rating: (number)[]
    /** Of these ratings: exact, rounded to a hundredth. Null without a rating. */
    mean_rating: number | null
  }
  intervals: ({
    /** Its first day in the period. Weeks begin on Monday. */
    start: string
    /** Questions that were sent in the period. Those that did not reach the customer are not counted. */
    asked: number
    /** Those of them that have a rating by now. The response rate is `answered` / `asked`. */
    answered: number
    /** Ratings that came in the period, whatever day the question was. */
    ratings: number
    /** Of these ratings: how many are 1, 2, 3, 4 and 5. */
    by_rating: (number)[]
    /** Of these ratings: exact, rounded to a hundredth. Null without a rating. */
    mean_rating: number | null
  })[]
  rows: ({
    /** Of the member who replied last before the question, of the team, connection or label. Null: none. */
    id: string | null
    /** Null if it does not exist any more, or if `id` is null. */
    name: string | null
    /** Hex, assigned by the service. */
    color: string | null
    /** Questions that were sent in the period. Those that did not reach the customer are not counted. */
    asked: number
    /** Those of them that have a rating by now. The response rate is `answered` / `asked`. */
    answered: number
    /** Ratings that came in the period, whatever day the question was. */
    ratings: number
    /** Of these ratings: how many are 1, 2, 3, 4 and 5. */
    by_rating: (number)[]
    /** Of these ratings: exact, rounded to a hundredth. Null without a rating. */
    mean_rating: number | null
    previous: {
      /** Questions that were sent in the period. Those that did not reach the customer are not counted. */
      asked: number
      /** Those of them that have a rating by now. The response rate is `answered` / `asked`. */
      answered: number
      /** Ratings that came in the period, whatever day the question was. */
      ratings: number
      /** Of these ratings: how many are 1, 2, 3, 4 and 5. */
      by_rating: (number)[]
      /** Of these ratings: exact, rounded to a hundredth. Null without a rating. */
      mean_rating: number | null
    }
  })[]
}

export type SaveAutomationDraftQuery = {
  /** The `updated_at` that the caller has read. If the automation has changed since, another definition than its draft is refused. */
  if_updated_at?: string | undefined
}

export type ScheduledContent = {
  /** `text` when absent. */
  type?: "text" | "template" | "image" | "video" | "document" | "audio" | "interactive" | "location" | undefined
  /** The text of a text message, at most 4096 characters; the caption of an image, video or document, at most 1024. */
  text?: string | undefined
  media_url?: string | undefined
  /** Shown in the chat for a document. */
  filename?: string | undefined
  template?: TemplateSend | undefined
  interactive?: Interactive | undefined
  location?: Location | undefined
}

export type ScheduledMessage = {
  id: string
  conversation_id: string
  /** `scheduled` waits for its time. `held` was due, but the customer had written: change its time, send or cancel it. `failed` could not be sent; `error` has the reason. */
  state: "scheduled" | "held" | "sending" | "sent" | "failed" | "canceled"
  send_at: string
  /** The message is held instead of sent if the customer writes before its time. */
  hold_if_customer_writes: boolean
  content: ScheduledContent
  /** The message that it quotes. */
  reply_to_message_id: string | null
  /** The message, once it is sent. Also set if the channel refused it: its error is in the message. */
  message_id: string | null
  /** Why it failed, else null. */
  error: string | null
  author: {
    type: "member" | "api_key"
    id: string
    /** The name of the member or of the API key. Null for a removed member. */
    name: string | null
  }
  created_at: string
  updated_at: string
}

export type ScheduledMessageChanges = {
  /** `text` when absent. */
  type?: "text" | "template" | "image" | "video" | "document" | "audio" | "interactive" | "location" | undefined
  /** The text of a text message, at most 4096 characters; the caption of an image, video or document, at most 1024. */
  text?: string | undefined
  /** A public URL; required for image, video, document and audio. */
  media_url?: string | undefined
  /** Shown in the chat for a document. */
  filename?: string | undefined
  template?: TemplateSend | undefined
  interactive?: Interactive | undefined
  location?: Location | undefined
  /** An earlier message of the same conversation to quote. */
  reply_to_message_id?: string | undefined
  /** When to send it: from now to 90 days ahead. */
  send_at?: string | undefined
  /** True: if the customer writes before that time, the message is held and not sent. A reaction does not count. */
  hold_if_customer_writes?: boolean | undefined
}

export type SecretRotation = {
  /** How long the previous secret also signs. With 0, or when absent, all earlier secrets stop at once. */
  overlap_hours?: number | undefined
}

export type Segment = {
  id: string
  name: string
  description: string | null
  /** Hex, assigned by the service. */
  color: string
  kind: "static" | "dynamic"
  filter: StoredFilter
  created_at: string
  updated_at: string
}

export type SegmentChanges = {
  /** 1 to 80 characters. Unique in the workspace without regard to case. */
  name?: string | undefined
  description?: string | null | undefined
  filter?: Filter | undefined
}

export type SendResult = {
  message_id: string
  msgapp_message_id: string
  conversation_id: string
  contact_id: string
  /** Whether this call created the contact. */
  contact_created: boolean
}

export type SocialMessageReceived = {
  channel: "social"
  conversation_id: string
  contact_id: string
  content_type: "text" | "image" | "video" | "audio" | "document" | "sticker" | "location" | "contacts" | "interactive" | "button" | "reaction" | "template" | "unsupported"
  /** The text, the caption, the title of a tapped button, an emoji. */
  text: string | null
  message: Message
  contact: Contact
  social_message_id: string
}

export type StartAutomationResult = (StartedRun)[]

export type StartedRun = {
  conversation_id: string
  run_id: string | null
  /** Why no run was started. */
  error: string | null
}

export type StoredFilter = {
  match: "all" | "any"
  rules: (FilterRule | StoredFilterGroup)[]
} | null

export type StoredFilterGroup = {
  match: "all" | "any"
  field: "group"
  /** The same as `match`. */
  op: "all" | "any"
  /** Empty. */
  value: string
  rules: (FilterRule)[]
}

export type Tag = {
  id: string
  name: string
  /** Hex, assigned by the service. */
  color: string
}

export type TakenOver = {
  id: string
  /** Whether there was an open run. */
  stopped: boolean
}

export type TargetsReport = {
  name: "targets"
  by: "target" | "member" | "team" | "connection" | "label"
  from_day: string
  /** The last day, included. */
  to_day: string
  /** The days are those of this zone: the workspace’s. */
  time_zone: string
  interval: "day" | "week" | "month"
  /** The time zone of the workspace has changed, and its days are being counted again. `time_zone` is still the former one. */
  is_rebuilding: boolean
  /** False while many past episodes are being counted: after an upgrade, for some minutes. */
  is_complete: boolean
  /** An episode has at most one outcome of each target and kind. A miss counts on the day on which the time ran out, a met one on the day of the reply or the closing. */
  totals: {
    first_reply: {
      met: number
      missed: number
    }
    next_reply: {
      met: number
      missed: number
    }
    closing: {
      met: number
      missed: number
    }
  }
  /** As many days before. */
  previous: {
    from_day: string
    to_day: string
    first_reply: {
      met: number
      missed: number
    }
    next_reply: {
      met: number
      missed: number
    }
    closing: {
      met: number
      missed: number
    }
  }
  intervals: ({
    /** Its first day in the period. Weeks begin on Monday. */
    start: string
    first_reply: {
      met: number
      missed: number
    }
    next_reply: {
      met: number
      missed: number
    }
    closing: {
      met: number
      missed: number
    }
  })[]
  /** One per target, member, team, connection or label with an outcome in one of the periods. */
  rows: ({
    /** Of the target; of the member or team who had the conversation when the outcome was decided; of the connection or label. Null: none. */
    id: string | null
    /** Null if it does not exist any more, or if `id` is null. */
    name: string | null
    /** Hex, assigned by the service. */
    color: string | null
    /** Of a target. */
    is_deleted: boolean
    first_reply: {
      met: number
      missed: number
    }
    next_reply: {
      met: number
      missed: number
    }
    closing: {
      met: number
      missed: number
    }
    previous: {
      first_reply: {
        met: number
        missed: number
      }
      next_reply: {
        met: number
        missed: number
      }
      closing: {
        met: number
        missed: number
      }
    }
  })[]
}

export type Team = {
  id: string
  /** Unique in the workspace, without regard to case. */
  name: string
  /** Hex. */
  color: string
  /** Its members (`GET /members`), oldest first. */
  member_ids: (string)[]
  /** The connections that it serves (`GET /connections`): their new conversations are assigned to it. */
  connection_ids: (string)[]
  created_at: string
}

export type Template = {
  name: string
  language: string
  /** The id of the provider account that owns it. Its numbers can send it. */
  account: string | null
  /** In the spelling of the channel: `MARKETING`, `UTILITY`, `AUTHENTICATION`. */
  category: string
  /** In the spelling of the channel: `APPROVED`, `PENDING`, `REJECTED`, `PAUSED`. Only approved ones are sent. */
  status: string
  /** The channel's reason for the status. */
  status_reason: string | null
  /** Header, body, footer, buttons and cards, as the channel has them. */
  components: (Record<string, unknown>)[]
  /** The values that the template needs, as `template.params` of a message, with placeholders instead of values. Null if the template cannot be sent. */
  params: TemplateParams | null
  updated_at: string
}

export type TemplateParams = {
  headerMediaUrl?: string | undefined
  headerMediaId?: string | undefined
  body?: (string)[] | undefined
  bodyNamed?: Record<string, string> | undefined
  buttonParams?: Record<string, string> | undefined
  headerText?: string | undefined
  headerFilename?: string | undefined
  headerLocation?: {
    latitude: string
    longitude: string
    name?: string | undefined
    address?: string | undefined
  } | undefined
  /** One entry per carousel card, in card order. */
  cards?: ({
    headerMediaUrl?: string | undefined
    headerMediaId?: string | undefined
    body?: (string)[] | undefined
    bodyNamed?: Record<string, string> | undefined
    buttonParams?: Record<string, string> | undefined
  })[] | undefined
}

export type TemplateSend = {
  /** The approved template's name. */
  name: string
  /** `en_US` when absent. */
  language?: string | undefined
  /** Body values in placeholder order, or an object with the values of each part. */
  params?: (string)[] | TemplateParams | undefined
  /** True fills fields of the contact in values, with a fallback for an empty field: `{{contact.name|there}}`. The fields are `name`, `phone`, `email`, `company` and `attributes.NAME` for an attribute. Otherwise values are literal. */
  contact_fields?: boolean | undefined
}

export type Usage = {
  /** The calendar month, in UTC. */
  month: string
  /** The messages that count against the plan, including those that running broadcasts have reserved. */
  messages_sent: number
  /** The messages that the plan allows per month; null without a limit. */
  messages_limit: number | null
  resets_at: string
}

export type WebMessageReceived = {
  channel: "web"
  conversation_id: string
  contact_id: string
  content_type: "text" | "image" | "video" | "audio" | "document" | "sticker" | "location" | "contacts" | "interactive" | "button" | "reaction" | "template" | "unsupported"
  /** The text, the caption, the title of a tapped button, an emoji. */
  text: string | null
  message: Message
  contact: Contact
  message_id: string
}

export type Webhook = {
  id: string
  url: string
  events: ("message.received" | "message.status_updated" | "conversation.created" | "contact.created")[]
  /** Becomes false after 15 consecutive failed events; nothing is sent while false. */
  is_active: boolean
  /** The time of the last success. */
  last_delivery_at: string | null
  /** Consecutive failed events; a success resets it to 0. */
  failure_count: number
  created_at: string
  /** `api`, or the automation tool that was connected in the dashboard. No effect on delivery. */
  provider: "api" | "tool_a" | "tool_b"
}

export type WebhookChanges = {
  /** https, without credentials. Every address its name resolves to must be public. */
  url?: string | undefined
  /** The events to send; duplicates are ignored. */
  events?: ("message.received" | "message.status_updated" | "conversation.created" | "contact.created")[] | undefined
  /** True also resets the failures; false cancels the queued deliveries. */
  is_active?: boolean | undefined
}

export type WebhookDelivery = {
  id: string
  /** The `id` in the body; the same when an event is sent again. */
  event_id: string
  /** The name of the event. */
  event: string
  status: "pending" | "delivered" | "failed" | "canceled"
  attempt_count: number
  created_at: string
  /** Null when the delivery has ended, and while an attempt is in flight. */
  next_attempt_at: string | null
  attempts: ({
    /** From 1; 0 if the delivery was canceled before its first attempt. */
    attempt: number
    /** The status of the delivery after this attempt. */
    status: "pending" | "delivered" | "failed" | "canceled"
    /** Null if there was no response. */
    http_status: number | null
    duration_ms: number | null
    /** Why the attempt failed; null after a success. */
    error: string | null
    /** The beginning of the response body, at most 16 KB. */
    response: string | null
    at: string
  })[]
}
