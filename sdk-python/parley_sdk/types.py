"""Request and response types of the API. Generated from the OpenAPI document by `npm run sdk-types`."""
from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

__all__ = [
    "AddSegmentContactsResult",
    "AddedRecipients",
    "AddedRecipientsSkipped",
    "Automation",
    "AutomationChange",
    "AutomationDefinition",
    "AutomationDryRun",
    "AutomationDryRunCounts",
    "AutomationDryRunRequest",
    "AutomationLastError",
    "AutomationPause",
    "AutomationRecentRuns",
    "AutomationRun",
    "AutomationRunDetail",
    "AutomationSecret",
    "AutomationStart",
    "AutomationStep",
    "AvailabilityReport",
    "AvailabilityReportInterval",
    "AvailabilityReportPrevious",
    "AvailabilityReportRow",
    "AvailabilityReportRowPrevious",
    "AvailabilityReportTotals",
    "Broadcast",
    "BroadcastRecipient",
    "BroadcastTemplate",
    "CheckedBroadcast",
    "CheckedDefinition",
    "CheckedDefinitionStep",
    "CheckedMessage",
    "Connection",
    "Contact",
    "ContactBatch",
    "ContactBatchResult",
    "ContactBatchResultError",
    "ContactChanges",
    "ContactCreated",
    "ContactCreatedData",
    "ContactIds",
    "ContactMerge",
    "Conversation",
    "ConversationChanges",
    "ConversationConnection",
    "ConversationCreated",
    "ConversationCreatedData",
    "ConversationEpisode",
    "CountedSegment",
    "CountedTag",
    "CreateContactsResult",
    "CreatedWebhook",
    "DeleteAutomationResult",
    "DeleteBroadcastResult",
    "DeleteContactResult",
    "DeleteSegmentResult",
    "DeleteWebhookResult",
    "DryRunRun",
    "DryRunStep",
    "EmbeddedContact",
    "Episode",
    "ErrorBody",
    "ErrorBodyError",
    "Event",
    "Filter",
    "FilterGroup",
    "FilterRule",
    "Identity",
    "Interactive",
    "InteractiveButtons",
    "InteractiveButtonsButton",
    "InteractiveLink",
    "InteractiveList",
    "InteractiveListSection",
    "InteractiveListSectionRow",
    "Label",
    "Location",
    "Me",
    "MeAccount",
    "MeKey",
    "Member",
    "Message",
    "MessageError",
    "MessageReceived",
    "MessageStatusUpdated",
    "MessageStatusUpdatedData",
    "MsgappMessageReceived",
    "NewAutomation",
    "NewBroadcast",
    "NewContact",
    "NewMessage",
    "NewNote",
    "NewRecipients",
    "NewReply",
    "NewScheduledMessage",
    "NewSegment",
    "NewWebhook",
    "Note",
    "NoteAuthor",
    "PlatformErrorDetails",
    "Reaction",
    "Recipient",
    "RemoveSegmentContactsResult",
    "Report",
    "ReportHour",
    "ReportInterval",
    "ReportIntervalClosing",
    "ReportIntervalFirstReply",
    "ReportPrevious",
    "ReportPreviousClosing",
    "ReportPreviousFirstReply",
    "ReportRow",
    "ReportRowClosing",
    "ReportRowFirstReply",
    "ReportRowPrevious",
    "ReportRowPreviousClosing",
    "ReportRowPreviousFirstReply",
    "ReportTotals",
    "ReportTotalsClosing",
    "ReportTotalsFirstReply",
    "SatisfactionReport",
    "SatisfactionReportInterval",
    "SatisfactionReportPrevious",
    "SatisfactionReportRow",
    "SatisfactionReportRowPrevious",
    "SatisfactionReportTotals",
    "ScheduledContent",
    "ScheduledMessage",
    "ScheduledMessageAuthor",
    "ScheduledMessageChanges",
    "SecretRotation",
    "Segment",
    "SegmentChanges",
    "SendResult",
    "SocialMessageReceived",
    "StartAutomationResult",
    "StartedRun",
    "StoredFilter",
    "StoredFilterGroup",
    "StoredFilterValue",
    "Tag",
    "TakenOver",
    "TargetsReport",
    "TargetsReportInterval",
    "TargetsReportIntervalClosing",
    "TargetsReportIntervalFirstReply",
    "TargetsReportIntervalNextReply",
    "TargetsReportPrevious",
    "TargetsReportPreviousClosing",
    "TargetsReportPreviousFirstReply",
    "TargetsReportPreviousNextReply",
    "TargetsReportRow",
    "TargetsReportRowClosing",
    "TargetsReportRowFirstReply",
    "TargetsReportRowNextReply",
    "TargetsReportRowPrevious",
    "TargetsReportRowPreviousClosing",
    "TargetsReportRowPreviousFirstReply",
    "TargetsReportRowPreviousNextReply",
    "TargetsReportTotals",
    "TargetsReportTotalsClosing",
    "TargetsReportTotalsFirstReply",
    "TargetsReportTotalsNextReply",
    "Team",
    "Template",
    "TemplateParams",
    "TemplateParamsCard",
    "TemplateParamsHeaderLocation",
    "TemplateSend",
    "Usage",
    "WebMessageReceived",
    "Webhook",
    "WebhookChanges",
    "WebhookDelivery",
    "WebhookDeliveryAttempt",
]


class AddSegmentContactsResult(TypedDict):
    segment_id: str
    # The number of ids in the request.
    requested: int
    # The number of contacts that were added.
    added: int


class AddedRecipients(TypedDict):
    # The number of recipients that were added.
    added: int
    skipped: List[AddedRecipientsSkipped]


class AddedRecipientsSkipped(TypedDict):
    # The position in the request, from 0.
    index: int
    # Not a phone number, a missing value, or a number that the draft has already.
    reason: str


class Automation(TypedDict):
    id: str
    name: str
    description: str
    # `draft`: never published. `paused`: starts no new runs.
    state: Literal["draft", "active", "paused"]
    # Its place among the automations of the workspace, from 0.
    position: int
    # The newest published version, which new runs use; 0 before the first.
    version: int
    # The definition of that version.
    definition: Optional[Dict[str, Any]]
    # The definition that is edited. Null: there are no changes since that version.
    draft: Optional[Dict[str, Any]]
    # Of the last 7 days, at most 10,000: how many were started, and how they ended.
    recent_runs: AutomationRecentRuns
    last_error: Optional[AutomationLastError]
    created_at: str
    updated_at: str


class AutomationChange(TypedDict, total=False):
    name: str
    description: str
    # Its new place, from 0.
    position: int


class AutomationDryRun(TypedDict):
    # What was tried.
    source: Literal["definition", "draft", "version"]
    since: str
    until: str
    # Of all runs, by how they would have ended.
    counts: AutomationDryRunCounts
    # The conversations that were read.
    conversation_count: int
    # Whether all of the past was read. The notes say what was not.
    is_complete: bool
    # What the dry run cannot know, in plain English.
    notes: List[str]
    # The newest runs, at most 200, newest first.
    runs: List[DryRunRun]


class AutomationDryRunCounts(TypedDict):
    """Of all runs, by how they would have ended."""

    runs: int
    # In which at least one run would have started.
    conversations: int
    # That the runs would have sent.
    messages: int
    # Runs that would still be open.
    open: int
    finished: int
    handed_over: int
    person: int
    timeout: int
    opted_out: int
    failed: int
    limit_messages: int
    limit_chain: int
    call: int


class AutomationDryRunRequest(TypedDict, total=False):
    definition: AutomationDefinition
    # The length of the past; 7 when absent.
    days: int


class AutomationLastError(TypedDict):
    run_id: str
    at: str
    error: str


class AutomationPause(TypedDict, total=False):
    end_runs: bool


class AutomationRecentRuns(TypedDict):
    """Of the last 7 days, at most 10,000: how many were started, and how they ended."""

    started: int
    open: int
    finished: int
    handed_over: int
    person: int
    failed: int
    other: int


class AutomationRun(TypedDict):
    id: str
    automation_id: str
    automation_name: str
    version: int
    contact_id: str
    contact_name: Optional[str]
    conversation_id: Optional[str]
    # The message of the customer that started it.
    message_id: Optional[str]
    state: Literal["running", "waiting", "ended"]
    # Why it ended.
    reason: Literal["finished", "handed_over", "person", "timeout", "opted_out", "merged", "failed", "limit_messages", "limit_chain", "limit_runs", "paused", "deleted", null]
    error: Optional[str]
    # The step at which it is, as a JSON path in the definition.
    path: Optional[str]
    answers: Dict[str, Any]
    due_at: Optional[str]
    started_at: str
    ended_at: Optional[str]
    # The name of the member who took over.
    ended_by: Optional[str]


class AutomationRunDetail(TypedDict):
    id: str
    automation_id: str
    automation_name: str
    version: int
    contact_id: str
    contact_name: Optional[str]
    conversation_id: Optional[str]
    # The message of the customer that started it.
    message_id: Optional[str]
    state: Literal["running", "waiting", "ended"]
    # Why it ended.
    reason: Literal["finished", "handed_over", "person", "timeout", "opted_out", "merged", "failed", "limit_messages", "limit_chain", "limit_runs", "paused", "deleted", null]
    error: Optional[str]
    # The step at which it is, as a JSON path in the definition.
    path: Optional[str]
    answers: Dict[str, Any]
    due_at: Optional[str]
    started_at: str
    ended_at: Optional[str]
    # The name of the member who took over.
    ended_by: Optional[str]
    # The definition of its version.
    definition: Dict[str, Any]
    # What it did, oldest first. Kept for 90 days.
    steps: List[AutomationStep]


class AutomationSecret(TypedDict):
    id: str
    secret: str


class AutomationStart(TypedDict):
    conversation_ids: List[str]


class AutomationStep(TypedDict):
    id: str
    path: str
    type: str
    outcome: Literal["done", "sent", "unknown", "asked", "answered", "repeated", "waiting", "failed", "stopped"]
    reason: Optional[str]
    # What the step got: an answer of the customer, a response of a URL.
    input: Any
    message_id: Optional[str]
    created_at: str


class AvailabilityReport(TypedDict):
    name: Literal["availability"]
    from_day: str
    # The last day, included.
    to_day: str
    # The days are those of this zone: the workspace’s.
    time_zone: str
    interval: Literal["day", "week", "month"]
    # The time zone of the workspace has changed, and its days are being counted again. `time_zone` is still the
    # former one.
    is_rebuilding: bool
    # Of all rows, up to now.
    totals: AvailabilityReportTotals
    # As many days before.
    previous: AvailabilityReportPrevious
    intervals: List[AvailabilityReportInterval]
    # One per member, without viewers.
    rows: List[AvailabilityReportRow]


class AvailabilityReportInterval(TypedDict):
    # Its first day in the period. Weeks begin on Monday.
    start: str
    available_seconds: int
    away_seconds: int
    # The rest of the time since the member was added.
    offline_seconds: int


class AvailabilityReportPrevious(TypedDict):
    """As many days before."""

    from_day: str
    to_day: str
    available_seconds: int
    away_seconds: int
    # The rest of the time since the member was added.
    offline_seconds: int


class AvailabilityReportRow(TypedDict):
    id: str
    name: Optional[str]
    # Now.
    state: Literal["available", "away", "offline"]
    available_seconds: int
    away_seconds: int
    # The rest of the time since the member was added.
    offline_seconds: int
    previous: AvailabilityReportRowPrevious


class AvailabilityReportRowPrevious(TypedDict):
    available_seconds: int
    away_seconds: int
    # The rest of the time since the member was added.
    offline_seconds: int


class AvailabilityReportTotals(TypedDict):
    """Of all rows, up to now."""

    available_seconds: int
    away_seconds: int
    # The rest of the time since the member was added.
    offline_seconds: int


class Broadcast(TypedDict):
    id: str
    # Can be empty in a draft of a member.
    name: str
    # `draft` until it is started; `sent` when no recipient is pending.
    status: Literal["draft", "scheduled", "sending", "sent", "canceled"]
    template: BroadcastTemplate
    # The number that sends it. Null when the workspace has none.
    connection_id: Optional[str]
    segment_id: Optional[str]
    # All recipients, each number once; 0 for a segment until sending starts.
    total_count: int
    # Recipients that were not sent to yet or have no outcome yet.
    pending_count: int
    # Recipients whose message the channel accepted and that did not fail later.
    sent_count: int
    # Of those, delivered. Includes the messages that were read.
    delivered_count: int
    # Of those, read.
    read_count: int
    # Recipients whose message the channel refused or that failed later.
    failed_count: int
    # Recipients that were not sent to: no usable number, a missing value, opted out, or the broadcast was canceled.
    skipped_count: int
    # No recipient is sent to now. If the channel does not answer, the broadcast continues by itself; otherwise a
    # member resumes it.
    is_paused: bool
    # The reason, with the time of the next attempt if the channel does not answer. Null when it is not paused or a
    # member paused it.
    paused_reason: Optional[str]
    created_at: str
    scheduled_at: Optional[str]
    started_at: Optional[str]
    completed_at: Optional[str]


class BroadcastRecipient(TypedDict):
    # The phone number; null for a contact without one, and after the contact was erased.
    to: Optional[str]
    # Null until the contact exists.
    contact_id: Optional[str]
    status: Literal["pending", "sent", "delivered", "read", "failed", "skipped"]
    # Why the recipient was skipped or the message failed.
    reason: Optional[str]
    # Null until the message exists.
    message_id: Optional[str]


class BroadcastTemplate(TypedDict):
    name: str
    language: str


class CheckedBroadcast(TypedDict):
    # The number of recipients that would be sent to, as far as is known now.
    recipient_count: int
    # The number of recipients that would be skipped.
    skipped_count: int


class CheckedDefinition(TypedDict):
    # Always true: a definition that is not valid is refused.
    valid: bool
    # The definition as the service stores it: the fields in a fixed order, without `$schema`.
    definition: Dict[str, Any]
    # The steps on all levels, in their order.
    steps: List[CheckedDefinitionStep]


class CheckedDefinitionStep(TypedDict):
    # The JSON path of the step in the definition.
    path: str
    # How many steps are around it.
    depth: int
    # The step on one line.
    text: str


class CheckedMessage(TypedDict):
    # The number in E.164.
    to: str
    # Null when sending would create the contact.
    contact_id: Optional[str]


class Connection(TypedDict):
    id: str
    channel: Literal["msgapp", "social", "web"]
    # Unique in the workspace.
    name: str
    # The phone number in E.164 (`msgapp`), the user name (`social`) or the host of the site (`web`). Null until it
    # is known.
    address: Optional[str]
    # The connection of its channel that is used when nothing else decides.
    is_default: bool
    # `failing`: its last use or check failed. `disconnected`: it is kept for its conversations and unfinished
    # broadcasts.
    status: Literal["connected", "disconnected", "failing"]
    created_at: str


class _ContactRequired(TypedDict):
    id: str
    # E.164. Null for a contact without a number.
    phone: Optional[str]
    social_username: Optional[str]
    # The channels on which the contact can be reached.
    channels: List[Literal["msgapp", "social", "web"]]
    name: Optional[str]
    email: Optional[str]
    company: Optional[str]
    avatar_url: Optional[str]
    tags: List[Tag]
    # Fields of your own, at most 50.
    attributes: Dict[str, Union[str, float, bool]]
    # Receives no broadcasts.
    opted_out: bool
    created_at: str
    updated_at: str


class Contact(_ContactRequired, total=False):
    # How channels know the contact, the last seen first, at most 100. Only in `GET /contacts/{id}`.
    identities: List[Identity]


class ContactBatch(TypedDict):
    # Bodies of `POST /contacts`.
    contacts: List[NewContact]


class _ContactBatchResultRequired(TypedDict):
    # The position of the item, from 0.
    index: int


class ContactBatchResult(_ContactBatchResultRequired, total=False):
    id: str
    # False for a number that was known.
    created: bool
    # Why the item was refused. `id` and `created` are absent.
    error: ContactBatchResultError


class ContactBatchResultError(TypedDict):
    """Why the item was refused. `id` and `created` are absent."""

    code: Literal["bad_request", "invalid_request", "msgapp_not_configured", "template_malformed", "unauthorized", "plan_limit_reached", "subscription_lapsed", "forbidden", "not_found", "rate_limited", "internal", "platform_error"]
    message: str


class ContactChanges(TypedDict, total=False):
    # White space at both ends is removed. An empty text is stored as null.
    name: Optional[str]
    # White space at both ends is removed. An empty text is stored as null.
    email: Optional[str]
    # White space at both ends is removed. An empty text is stored as null.
    company: Optional[str]
    # Tag names, 1 to 80 characters each, at most 100. Tags that do not exist are created.
    tags: List[str]
    # Merged into the stored attributes; null removes one. A contact has at most 50.
    attributes: Dict[str, Optional[Union[str, float, bool]]]
    # Receives no broadcasts.
    opted_out: bool
    # Tag names, 1 to 80 characters each, at most 100. Added to the tags of the contact. Not together with `tags`.
    add_tags: List[str]
    # Tag names, 1 to 80 characters each, at most 100. Removed from the tags of the contact. Not together with
    # `tags`.
    remove_tags: List[str]
    # Cannot be changed. The current number is accepted.
    phone: str


class ContactCreated(TypedDict):
    """A contact was created, by any means."""

    # Identical across retries: deduplicate on it.
    id: str
    event: Literal["contact.created"]
    # When it happened, not when it was delivered.
    occurred_at: str
    # The workspace.
    account_id: str
    data: ContactCreatedData


class _ContactCreatedDataRequired(TypedDict):
    contact_id: str
    # E.164. Null for a contact without a number.
    phone: Optional[str]
    name: Optional[str]
    contact: Contact


class ContactCreatedData(_ContactCreatedDataRequired, total=False):
    # Only of a contact from a `social` thread.
    social_username: Optional[str]


class ContactIds(TypedDict):
    contact_ids: List[str]


class ContactMerge(TypedDict):
    # The contact that is merged and then gone.
    contact_id: str


class Conversation(TypedDict):
    id: str
    channel: Literal["msgapp", "social", "web"]
    # The number, social account or site. Replies leave from it.
    connection: Optional[ConversationConnection]
    contact_id: str
    status: Literal["open", "pending", "closed"]
    # The member it is assigned to.
    assigned_agent_id: Optional[str]
    # The team it is assigned to, with or without a member (`GET /teams`).
    assigned_team_id: Optional[str]
    last_message_text: Optional[str]
    last_message_at: Optional[str]
    # When the service received the last message of the customer. The 24-hour window starts at the time that the
    # channel gives for it, which can be earlier.
    last_inbound_at: Optional[str]
    # Messages of the customer since a member read the conversation or replied in it. At least 1 after a member
    # marked it as unread. Messages of a blocked contact do not count.
    unread_count: int
    # `bot` while an automation waits for an answer of the customer or is about to ask. Otherwise `team`.
    handled_by: Literal["team", "bot"]
    # By name.
    labels: List[Label]
    # The open episode: the work since its first message. Null when there is none (`GET /episodes`).
    episode: Optional[ConversationEpisode]
    # The status is `pending` until then. Null when the conversation is not snoozed.
    snoozed_until: Optional[str]
    created_at: str
    updated_at: str
    contact: EmbeddedContact


class ConversationChanges(TypedDict, total=False):
    status: Literal["open", "pending", "closed"]
    # A member who is not a viewer (`GET /members`). Null unassigns.
    assigned_agent_id: Optional[str]
    # A team (`GET /teams`). Null: of no team.
    assigned_team_id: Optional[str]
    # A date-time within the next 366 days: the status is `pending` until then. Null ends the snooze.
    snoozed_until: Optional[str]
    # Names: exactly these labels. Labels that the workspace lacks are created.
    labels: List[str]


class ConversationConnection(TypedDict):
    """The number, social account or site. Replies leave from it."""

    id: str
    # Unique in the workspace.
    name: str
    # The phone number in E.164 (`msgapp`), the user name (`social`) or the host of the site (`web`). Null until it
    # is known.
    address: Optional[str]


class ConversationCreated(TypedDict):
    """A new conversation was opened for a contact."""

    # Identical across retries: deduplicate on it.
    id: str
    event: Literal["conversation.created"]
    # When it happened, not when it was delivered.
    occurred_at: str
    # The workspace.
    account_id: str
    data: ConversationCreatedData


class ConversationCreatedData(TypedDict):
    conversation_id: str
    contact_id: str
    conversation: Conversation


class ConversationEpisode(TypedDict):
    """The open episode: the work since its first message. Null when there is none (`GET /episodes`)."""

    id: str
    opened_at: str
    # Whose message opened it.
    opened_by: Literal["customer", "member"]
    first_assigned_at: Optional[str]
    first_reply_at: Optional[str]
    first_reply_by: Optional[str]
    # Replies of members.
    replies: int
    # Messages of the customer.
    customer_messages: int
    reopened_from: Optional[str]


class CountedSegment(TypedDict):
    id: str
    name: str
    description: Optional[str]
    # Hex, assigned by the service.
    color: str
    kind: Literal["static", "dynamic"]
    filter: StoredFilter
    created_at: str
    updated_at: str
    # The exact number of members now.
    member_count: int


class CountedTag(TypedDict):
    id: str
    name: str
    # Hex, assigned by the service.
    color: str
    # How many contacts have the tag.
    contact_count: int


class CreatedWebhook(TypedDict):
    id: str
    url: str
    events: List[Literal["message.received", "message.status_updated", "conversation.created", "contact.created"]]
    # Becomes false after 15 consecutive failed events; nothing is sent while false.
    is_active: bool
    # The time of the last success.
    last_delivery_at: Optional[str]
    # Consecutive failed events; a success resets it to 0.
    failure_count: int
    created_at: str
    # `api`, or the automation tool that was connected in the dashboard. No effect on delivery.
    provider: Literal["api", "tool_a", "tool_b"]
    # Signs the deliveries. Returned only on creation and rotation.
    secret: str


class DeleteAutomationResult(TypedDict):
    id: str
    # Always true.
    deleted: bool


class DeleteBroadcastResult(TypedDict):
    id: str
    # Always true.
    deleted: bool


class DeleteContactResult(TypedDict):
    id: str
    # Always true.
    deleted: bool


class DeleteSegmentResult(TypedDict):
    id: str
    # Always true.
    deleted: bool


class DeleteWebhookResult(TypedDict):
    id: str
    # Always true.
    deleted: bool


class DryRunRun(TypedDict):
    contact_id: str
    contact_name: Optional[str]
    conversation_id: Optional[str]
    # The message of the customer that would have started it.
    message_id: Optional[str]
    message_text: Optional[str]
    started_at: str
    ended_at: Optional[str]
    # Why it would have ended. `call`: the response of a server is not known, so it cannot be followed further.
    # Null: it would still be open.
    reason: Literal["finished", "handed_over", "person", "timeout", "opted_out", "failed", "limit_messages", "limit_chain", "call", null]
    error: Optional[str]
    answers: Dict[str, Any]
    # The messages that it would have sent.
    message_count: int
    # What it would have done, oldest first; at most 100 steps.
    steps: List[DryRunStep]


class DryRunStep(TypedDict):
    # The JSON path of the step in the definition.
    path: str
    type: str
    at: str
    outcome: Literal["done", "sent", "unknown", "asked", "answered", "repeated", "waiting", "failed", "stopped"]
    # The message with its fields filled, the note, or the changes in words.
    text: Optional[str]
    reason: Optional[str]
    # The answer of the customer.
    input: Optional[str]


class EmbeddedContact(TypedDict):
    id: str
    phone: Optional[str]
    social_username: Optional[str]
    name: Optional[str]
    email: Optional[str]
    company: Optional[str]
    tags: List[Tag]


class Episode(TypedDict):
    # In general the id of the message that opened it.
    id: str
    conversation_id: str
    # The number, social account or site.
    connection_id: Optional[str]
    # When its first message was stored.
    opened_at: str
    # Whose message opened it.
    opened_by: Literal["customer", "member"]
    # When it was first assigned to a member. The time of the opening if the conversation was assigned then.
    first_assigned_at: Optional[str]
    # When a member first replied. Messages of automations, broadcasts and API keys are no reply. The time of the
    # opening if a member opened it.
    first_reply_at: Optional[str]
    # The member who first replied. Null without a reply, and for one from the provider's own app.
    first_reply_by: Optional[str]
    # Replies of members.
    replies: int
    # Messages of the customer.
    customer_messages: int
    # Null while it is open.
    closed_at: Optional[str]
    # `silence`: an automation that waits for silence. `block`: a member blocked the contact. Null while it is open,
    # and for closings before episodes were recorded if the timeline does not say it.
    closed_by: Literal["member", "automation", "api", "silence", "block", null]
    # The member, the API key or the run of the automation that closed it.
    closed_by_id: Optional[str]
    # The episode before, if it closed less than 24 hours before this one opened.
    reopened_from: Optional[str]
    # The team of the conversation: now, or when the episode closed.
    team_id: Optional[str]
    # The member to whom the conversation is assigned: now, or when the episode closed.
    member_id: Optional[str]
    # Of the conversation: now, or when the episode closed, without labels that were deleted. By name.
    labels: List[Label]
    # Seconds in office hours from the opening to the first reply. Computed within a minute.
    office_first_reply_s: Optional[int]
    # Seconds in office hours from the opening to the closing. Computed within a minute.
    office_closing_s: Optional[int]
    # When a field of the episode changed. Counts, team, member and labels of an open episode do not change it; its
    # closing does.
    updated_at: str


class ErrorBody(TypedDict):
    error: ErrorBodyError


class _ErrorBodyErrorRequired(TypedDict):
    # Stable; branch on this.
    code: Literal["bad_request", "invalid_request", "msgapp_not_configured", "template_malformed", "unauthorized", "plan_limit_reached", "subscription_lapsed", "forbidden", "not_found", "rate_limited", "internal", "platform_error"]
    # For people; may change.
    message: str


class ErrorBodyError(_ErrorBodyErrorRequired, total=False):
    # Present with the code `platform_error`.
    details: PlatformErrorDetails


class Filter(TypedDict):
    """At most 200 rules in total, with those of groups."""

    match: Literal["all", "any"]
    rules: List[Union[FilterRule, FilterGroup]]


class _FilterGroupRequired(TypedDict):
    rules: List[FilterRule]


class FilterGroup(_FilterGroupRequired, total=False):
    """A group of rules that counts as one rule of the filter. It has `match`, or the `field` with the text `group`
    and an `op`.
    """

    match: Literal["all", "any"]
    field: Literal["group"]
    # The same as `match`.
    op: Literal["all", "any"]
    # Ignored.
    value: str


class _FilterRuleRequired(TypedDict):
    # Fields and their ops: `tag` has, not_has; `name` is, is_not, contains, not_contains, starts_with, is_set,
    # is_not_set; `email` is, is_not, contains, not_contains, starts_with, is_set, is_not_set; `company` is, is_not,
    # contains, not_contains, starts_with, is_set, is_not_set; `phone` is, is_not, contains, not_contains,
    # starts_with, is_set, is_not_set; `social_username` is, is_not, contains, not_contains, starts_with, is_set,
    # is_not_set; `channel` has, not_has; `created_at` before, after, is_set, is_not_set; `opted_out` is;
    # `attributes.NAME` is, is_not, contains, not_contains, starts_with, is_set, is_not_set, gt, lt;
    # `last_inbound_at` before, after, is_set, is_not_set; `connection` has, not_has; `conversation_status` is,
    # is_not.
    field: str
    # One of the ops of the field.
    op: Literal["has", "not_has", "is", "is_not", "contains", "not_contains", "starts_with", "is_set", "is_not_set", "before", "after", "gt", "lt"]


class FilterRule(_FilterRuleRequired, total=False):
    # Required except for `is_set` and `is_not_set`. Text is compared without regard to case. A tag is its id or
    # name; a time is a date-time, or an age such as `30d` or `12h`.
    value: str


class Identity(TypedDict):
    channel: Literal["msgapp", "social", "web"]
    # The phone number, the user id of the provider or the id of the visitor.
    address: str
    # The connection that knows a user id or visitor. Null for a phone number, which every number of the workspace
    # can reach.
    connection_id: Optional[str]
    # The customer's last message or visit with this identity. Null if there is none.
    last_seen_at: Optional[str]


class _InteractiveButtonsRequired(TypedDict):
    kind: Literal["buttons"]
    body: str
    buttons: List[InteractiveButtonsButton]


class InteractiveButtons(_InteractiveButtonsRequired, total=False):
    """A text with one to three buttons that send a reply."""

    header: str
    footer: str


class InteractiveButtonsButton(TypedDict):
    # Returned as `interactive_reply_id` of the message that a tap sends. Unique in the message.
    id: str
    title: str


class InteractiveLink(TypedDict):
    """A text with a button that opens a URL."""

    kind: Literal["link"]
    body: str
    # The label of the button.
    text: str
    # An https URL.
    url: str


class InteractiveList(TypedDict):
    """A text with a list of at most 10 rows in all sections."""

    kind: Literal["list"]
    body: str
    # The label of the button that opens the list.
    button: str
    sections: List[InteractiveListSection]


class InteractiveListSection(TypedDict):
    title: str
    rows: List[InteractiveListSectionRow]


class _InteractiveListSectionRowRequired(TypedDict):
    # Returned as `interactive_reply_id` of the message that a tap sends. Unique in the message.
    id: str
    title: str


class InteractiveListSectionRow(_InteractiveListSectionRowRequired, total=False):
    description: str


class Label(TypedDict):
    id: str
    name: str
    # Hex, assigned by the service.
    color: str


class _LocationRequired(TypedDict):
    latitude: float
    longitude: float


class Location(_LocationRequired, total=False):
    name: str
    address: str


class Me(TypedDict):
    account: MeAccount
    key: MeKey
    # The version of the service, such as 1.4.2.
    version: str


class MeAccount(TypedDict):
    id: str
    name: str


class MeKey(TypedDict):
    id: str
    scopes: List[Literal["messages:send", "messages:read", "contacts:read", "contacts:write", "contacts:erase", "conversations:read", "conversations:write", "broadcasts:send", "automations:manage", "webhooks:manage"]]


class Member(TypedDict):
    id: str
    name: Optional[str]
    email: str
    # A viewer cannot be assigned.
    role: Literal["owner", "admin", "agent", "viewer"]
    # Whether the member has the dashboard open.
    is_online: bool


class Message(TypedDict):
    id: str
    conversation_id: str
    direction: Literal["inbound", "outbound"]
    # `agent` is a member or the API, `bot` is a broadcast.
    sender_type: Literal["customer", "agent", "bot"]
    content_type: Literal["text", "image", "video", "audio", "document", "sticker", "location", "contacts", "interactive", "button", "reaction", "template", "unsupported"]
    # The text, the caption, the title of a tapped button, an emoji.
    content_text: Optional[str]
    # Structured content in the format of the channel: an order, a form response, contact cards, coordinates, a
    # referral, a shared link. For a message that you sent: `interactive` or `location`, as in the request.
    # Otherwise null.
    content: Optional[Dict[str, Any]]
    # Null until the media of a customer has been fetched.
    media_url: Optional[str]
    template_name: Optional[str]
    # The broadcast that sent it.
    broadcast_id: Optional[str]
    # The primary channel's id of the message; delivery events refer to it.
    msgapp_message_id: Optional[str]
    # The channel's id of the message if there is one, otherwise our id.
    message_id: str
    # `received` for inbound messages. Outbound messages start as `pending`.
    status: Literal["received", "pending", "sent", "failed", "delivered", "read"]
    # Why the message failed; null while its status is not `failed`.
    error: Optional[MessageError]
    reply_to_message_id: Optional[str]
    # The id of the tapped button or row.
    interactive_reply_id: Optional[str]
    deleted_at: Optional[str]
    created_at: str


class MessageError(TypedDict):
    """Why the message failed; null while its status is not `failed`."""

    # The channel's error code, or `platform_error` if it sent none.
    code: str
    # A readable explanation; may change.
    message: str


class MessageReceived(TypedDict):
    """A customer sent a message, on any channel. On the primary channel there is no `channel` key."""

    # Identical across retries: deduplicate on it.
    id: str
    event: Literal["message.received"]
    # When it happened, not when it was delivered.
    occurred_at: str
    # The workspace.
    account_id: str
    data: Union[MsgappMessageReceived, SocialMessageReceived, WebMessageReceived]


class MessageStatusUpdated(TypedDict):
    """The delivery status of a message you sent on the primary channel. The same status can arrive more than once
    and out of order.
    """

    # Identical across retries: deduplicate on it.
    id: str
    event: Literal["message.status_updated"]
    # When it happened, not when it was delivered.
    occurred_at: str
    # The workspace.
    account_id: str
    data: MessageStatusUpdatedData


class MessageStatusUpdatedData(TypedDict):
    # Null when the message failed before the channel gave it an id.
    msgapp_message_id: Optional[str]
    conversation_id: str
    status: Literal["sent", "delivered", "read", "failed"]
    message: Message


class _MsgappMessageReceivedRequired(TypedDict):
    conversation_id: str
    contact_id: str
    content_type: Literal["text", "image", "video", "audio", "document", "sticker", "location", "contacts", "interactive", "button", "reaction", "template", "unsupported"]
    # The text, the caption, the title of a tapped button, an emoji.
    text: Optional[str]
    message: Message
    contact: Contact
    msgapp_message_id: str


class MsgappMessageReceived(_MsgappMessageReceivedRequired, total=False):
    # Never present on the primary channel.
    channel: None


class _NewAutomationRequired(TypedDict):
    name: str


class NewAutomation(_NewAutomationRequired, total=False):
    description: str
    definition: AutomationDefinition


class _NewBroadcastRequired(TypedDict):
    # 1 to 80 characters.
    name: str
    template: TemplateSend


_NewBroadcastKeywords = TypedDict(
    "_NewBroadcastKeywords",
    {
        # The number that sends it: its connection id, or the number itself. Without it the default number.
        "from": str,
    },
    total=False,
)


class NewBroadcast(_NewBroadcastRequired, _NewBroadcastKeywords, total=False):
    # Each number gets one message. The `params` of a recipient replace all `params` of the template.
    recipients: List[Recipient]
    # Instead of `recipients`. The members are those at the time when sending starts.
    segment_id: str
    # The time of the start. Up to 5 minutes in the past means now.
    scheduled_at: str
    # True creates a draft. Add recipients with `POST /broadcasts/{id}/recipients`, then start it. Needs neither
    # `recipients` nor `segment_id`. A draft is deleted after 30 days; a workspace has at most 1,000.
    draft: bool


class _NewContactRequired(TypedDict):
    # A phone number. A number without a country code is in the default country of the workspace.
    phone: str


class NewContact(_NewContactRequired, total=False):
    # White space at both ends is removed. An empty text is stored as null.
    name: Optional[str]
    # White space at both ends is removed. An empty text is stored as null.
    email: Optional[str]
    # White space at both ends is removed. An empty text is stored as null.
    company: Optional[str]
    # Tag names, 1 to 80 characters each, at most 100. Tags that do not exist are created.
    tags: List[str]
    # Merged into the stored attributes; null removes one. A contact has at most 50.
    attributes: Dict[str, Optional[Union[str, float, bool]]]
    # Receives no broadcasts.
    opted_out: bool
    # For a number that is known: `keep` changes nothing, `update` applies the fields present. `keep` when absent.
    if_exists: Literal["keep", "update"]


class _NewMessageRequired(TypedDict):
    # A phone number. Without a country code the default country of the workspace applies.
    to: str


_NewMessageKeywords = TypedDict(
    "_NewMessageKeywords",
    {
        # The number that sends: its connection id, or the number itself. Without it the number of the conversation in
        # which the customer wrote last, or else the default number.
        "from": str,
    },
    total=False,
)


class NewMessage(_NewMessageRequired, _NewMessageKeywords, total=False):
    # `text` when absent.
    type: Literal["text", "template", "image", "video", "document", "audio", "interactive", "location", "reaction"]
    # The text of a text message, at most 4096 characters; the caption of an image, video or document, at most 1024.
    text: str
    # A public URL; required for image, video, document and audio.
    media_url: str
    # Shown in the chat for a document.
    filename: str
    template: TemplateSend
    interactive: Interactive
    location: Location
    reaction: Reaction
    # An earlier message of the same conversation to quote.
    reply_to_message_id: str
    # The contact's name; replaces the stored name if different.
    name: str


class NewNote(TypedDict):
    # 1 to 10,000 characters. Only members see it. It is never sent.
    text: str


class NewRecipients(TypedDict):
    recipients: List[Recipient]


class NewReply(TypedDict, total=False):
    # `text` when absent.
    type: Literal["text", "template", "image", "video", "document", "audio", "interactive", "location", "reaction"]
    # The text of a text message, at most 4096 characters; the caption of an image, video or document, at most 1024.
    text: str
    # A public URL; required for image, video, document and audio.
    media_url: str
    # Shown in the chat for a document.
    filename: str
    template: TemplateSend
    interactive: Interactive
    location: Location
    reaction: Reaction
    # An earlier message of the same conversation to quote.
    reply_to_message_id: str


class _NewScheduledMessageRequired(TypedDict):
    # When to send it: from now to 90 days ahead.
    send_at: str


class NewScheduledMessage(_NewScheduledMessageRequired, total=False):
    # `text` when absent.
    type: Literal["text", "template", "image", "video", "document", "audio", "interactive", "location"]
    # The text of a text message, at most 4096 characters; the caption of an image, video or document, at most 1024.
    text: str
    # A public URL; required for image, video, document and audio.
    media_url: str
    # Shown in the chat for a document.
    filename: str
    template: TemplateSend
    interactive: Interactive
    location: Location
    # An earlier message of the same conversation to quote.
    reply_to_message_id: str
    # True: if the customer writes before that time, the message is held and not sent. A reaction does not count.
    # False when absent; true for members of the dashboard.
    hold_if_customer_writes: bool


class _NewSegmentRequired(TypedDict):
    # 1 to 80 characters. Unique in the workspace without regard to case.
    name: str


class NewSegment(_NewSegmentRequired, total=False):
    description: Optional[str]
    # `static` when absent.
    kind: Literal["static", "dynamic"]
    filter: Filter


class NewWebhook(TypedDict):
    # https, without credentials. Every address its name resolves to must be public.
    url: str
    # The events to send; duplicates are ignored.
    events: List[Literal["message.received", "message.status_updated", "conversation.created", "contact.created"]]


class Note(TypedDict):
    id: str
    text: str
    author: NoteAuthor
    created_at: str


class NoteAuthor(TypedDict):
    type: Literal["member", "api_key", "automation"]
    # Of an automation: the id of its run.
    id: str
    # The name of the member, the API key or the automation. Null for a removed member.
    name: Optional[str]


class PlatformErrorDetails(TypedDict):
    """Present with the code `platform_error`."""

    # `rejected`: the channel refused the message. `unsent`: nothing reached the channel; you may send the message
    # again, under a new `Idempotency-Key`. `unknown`: the channel may have sent it; a later
    # `message.status_updated` reports the outcome. Parley does not send it again.
    outcome: Literal["rejected", "unsent", "unknown"]
    # Null if the request failed before a message was stored.
    message_id: Optional[str]
    # The channel's error code, or null if it sent none.
    channel_code: Optional[str]


class Reaction(TypedDict):
    # A message of the same conversation.
    message_id: str
    # One emoji; empty removes the reaction.
    emoji: str


class _RecipientRequired(TypedDict):
    # A phone number. A number without a country code is in the default country of the workspace.
    to: str


class Recipient(_RecipientRequired, total=False):
    # The contact's name. Replaces the stored name if it is different.
    name: str
    # Body values in placeholder order, or an object with the values of each part.
    params: Union[List[str], TemplateParams]


class RemoveSegmentContactsResult(TypedDict):
    segment_id: str
    # The number of ids in the request.
    requested: int
    # The number of contacts that were removed.
    removed: int


class Report(TypedDict):
    name: Literal["overview", "members", "teams", "labels", "connections", "busy_hours"]
    from_day: str
    # The last day, included.
    to_day: str
    # The days are those of this zone: the workspace’s.
    time_zone: str
    interval: Literal["day", "week", "month"]
    # The time zone of the workspace has changed, and its days are being counted again. `time_zone` is still the
    # former one.
    is_rebuilding: bool
    # Times are counted in office hours.
    office_hours: bool
    # False while many past episodes are being counted: after an upgrade, for some minutes.
    is_complete: bool
    totals: ReportTotals
    # As many days before.
    previous: ReportPrevious
    intervals: List[ReportInterval]
    # One per member, team, label or connection with a figure. Empty for `overview` and `busy_hours`.
    rows: List[ReportRow]
    # Of `busy_hours`: the hours of the week in which something happened.
    hours: List[ReportHour]


class ReportHour(TypedDict):
    # 0 is Monday.
    weekday: int
    hour: int
    opened: int
    first_replies: int
    closed: int


class ReportInterval(TypedDict):
    # Its first day in the period. Weeks begin on Monday.
    start: str
    # Episodes that opened in the period.
    opened: int
    # Those of them whose conversation had been closed less than 24 hours before.
    reopened: int
    # Episodes that closed in the period.
    closed: int
    # Replies of members in the episodes that closed in the period.
    replies: int
    # From the opening by the customer to the first reply of a member, of the episodes whose first reply was in the
    # period.
    first_reply: ReportIntervalFirstReply
    # From the opening to the closing, of the episodes that closed in the period.
    closing: ReportIntervalClosing


class ReportIntervalClosing(TypedDict):
    """From the opening to the closing, of the episodes that closed in the period."""

    # The episodes with such a time.
    count: int
    # From a histogram, with an error of at most 2 %. Null without an episode.
    median_seconds: Optional[float]
    # Nine tenths of the times are at most this long. The error is that of the median.
    p90_seconds: Optional[float]
    # Exact, rounded to a tenth of a second.
    mean_seconds: Optional[float]


class ReportIntervalFirstReply(TypedDict):
    """From the opening by the customer to the first reply of a member, of the episodes whose first reply was in the
    period.
    """

    # The episodes with such a time.
    count: int
    # From a histogram, with an error of at most 2 %. Null without an episode.
    median_seconds: Optional[float]
    # Nine tenths of the times are at most this long. The error is that of the median.
    p90_seconds: Optional[float]
    # Exact, rounded to a tenth of a second.
    mean_seconds: Optional[float]


class ReportPrevious(TypedDict):
    """As many days before."""

    from_day: str
    to_day: str
    # Episodes that opened in the period.
    opened: int
    # Those of them whose conversation had been closed less than 24 hours before.
    reopened: int
    # Episodes that closed in the period.
    closed: int
    # Replies of members in the episodes that closed in the period.
    replies: int
    # From the opening by the customer to the first reply of a member, of the episodes whose first reply was in the
    # period.
    first_reply: ReportPreviousFirstReply
    # From the opening to the closing, of the episodes that closed in the period.
    closing: ReportPreviousClosing


class ReportPreviousClosing(TypedDict):
    """From the opening to the closing, of the episodes that closed in the period."""

    # The episodes with such a time.
    count: int
    # From a histogram, with an error of at most 2 %. Null without an episode.
    median_seconds: Optional[float]
    # Nine tenths of the times are at most this long. The error is that of the median.
    p90_seconds: Optional[float]
    # Exact, rounded to a tenth of a second.
    mean_seconds: Optional[float]


class ReportPreviousFirstReply(TypedDict):
    """From the opening by the customer to the first reply of a member, of the episodes whose first reply was in the
    period.
    """

    # The episodes with such a time.
    count: int
    # From a histogram, with an error of at most 2 %. Null without an episode.
    median_seconds: Optional[float]
    # Nine tenths of the times are at most this long. The error is that of the median.
    p90_seconds: Optional[float]
    # Exact, rounded to a tenth of a second.
    mean_seconds: Optional[float]


class ReportRow(TypedDict):
    # Of the member, team, label or connection. Null: episodes without one.
    id: Optional[str]
    # Null if it does not exist any more, or if `id` is null.
    name: Optional[str]
    # Hex, assigned by the service.
    color: Optional[str]
    # Episodes that opened in the period.
    opened: int
    # Those of them whose conversation had been closed less than 24 hours before.
    reopened: int
    # Episodes that closed in the period.
    closed: int
    # Replies of members in the episodes that closed in the period.
    replies: int
    # From the opening by the customer to the first reply of a member, of the episodes whose first reply was in the
    # period.
    first_reply: ReportRowFirstReply
    # From the opening to the closing, of the episodes that closed in the period.
    closing: ReportRowClosing
    previous: ReportRowPrevious
    # Open conversations whose customer waits for a reply of a member now, whatever the period.
    waiting_now: int


class ReportRowClosing(TypedDict):
    """From the opening to the closing, of the episodes that closed in the period."""

    # The episodes with such a time.
    count: int
    # From a histogram, with an error of at most 2 %. Null without an episode.
    median_seconds: Optional[float]
    # Nine tenths of the times are at most this long. The error is that of the median.
    p90_seconds: Optional[float]
    # Exact, rounded to a tenth of a second.
    mean_seconds: Optional[float]


class ReportRowFirstReply(TypedDict):
    """From the opening by the customer to the first reply of a member, of the episodes whose first reply was in the
    period.
    """

    # The episodes with such a time.
    count: int
    # From a histogram, with an error of at most 2 %. Null without an episode.
    median_seconds: Optional[float]
    # Nine tenths of the times are at most this long. The error is that of the median.
    p90_seconds: Optional[float]
    # Exact, rounded to a tenth of a second.
    mean_seconds: Optional[float]


class ReportRowPrevious(TypedDict):
    # Episodes that opened in the period.
    opened: int
    # Those of them whose conversation had been closed less than 24 hours before.
    reopened: int
    # Episodes that closed in the period.
    closed: int
    # Replies of members in the episodes that closed in the period.
    replies: int
    # From the opening by the customer to the first reply of a member, of the episodes whose first reply was in the
    # period.
    first_reply: ReportRowPreviousFirstReply
    # From the opening to the closing, of the episodes that closed in the period.
    closing: ReportRowPreviousClosing


class ReportRowPreviousClosing(TypedDict):
    """From the opening to the closing, of the episodes that closed in the period."""

    # The episodes with such a time.
    count: int
    # From a histogram, with an error of at most 2 %. Null without an episode.
    median_seconds: Optional[float]
    # Nine tenths of the times are at most this long. The error is that of the median.
    p90_seconds: Optional[float]
    # Exact, rounded to a tenth of a second.
    mean_seconds: Optional[float]


class ReportRowPreviousFirstReply(TypedDict):
    """From the opening by the customer to the first reply of a member, of the episodes whose first reply was in the
    period.
    """

    # The episodes with such a time.
    count: int
    # From a histogram, with an error of at most 2 %. Null without an episode.
    median_seconds: Optional[float]
    # Nine tenths of the times are at most this long. The error is that of the median.
    p90_seconds: Optional[float]
    # Exact, rounded to a tenth of a second.
    mean_seconds: Optional[float]


class ReportTotals(TypedDict):
    # Episodes that opened in the period.
    opened: int
    # Those of them whose conversation had been closed less than 24 hours before.
    reopened: int
    # Episodes that closed in the period.
    closed: int
    # Replies of members in the episodes that closed in the period.
    replies: int
    # From the opening by the customer to the first reply of a member, of the episodes whose first reply was in the
    # period.
    first_reply: ReportTotalsFirstReply
    # From the opening to the closing, of the episodes that closed in the period.
    closing: ReportTotalsClosing
    # Open conversations whose customer waits for a reply of a member now, whatever the period.
    waiting_now: int


class ReportTotalsClosing(TypedDict):
    """From the opening to the closing, of the episodes that closed in the period."""

    # The episodes with such a time.
    count: int
    # From a histogram, with an error of at most 2 %. Null without an episode.
    median_seconds: Optional[float]
    # Nine tenths of the times are at most this long. The error is that of the median.
    p90_seconds: Optional[float]
    # Exact, rounded to a tenth of a second.
    mean_seconds: Optional[float]


class ReportTotalsFirstReply(TypedDict):
    """From the opening by the customer to the first reply of a member, of the episodes whose first reply was in the
    period.
    """

    # The episodes with such a time.
    count: int
    # From a histogram, with an error of at most 2 %. Null without an episode.
    median_seconds: Optional[float]
    # Nine tenths of the times are at most this long. The error is that of the median.
    p90_seconds: Optional[float]
    # Exact, rounded to a tenth of a second.
    mean_seconds: Optional[float]


class SatisfactionReport(TypedDict):
    name: Literal["satisfaction"]
    by: Literal["member", "team", "connection", "label"]
    from_day: str
    # The last day, included.
    to_day: str
    # The days are those of this zone: the workspace’s.
    time_zone: str
    interval: Literal["day", "week", "month"]
    # The time zone of the workspace has changed, and its days are being counted again. `time_zone` is still the
    # former one.
    is_rebuilding: bool
    # False while many past episodes are being counted: after an upgrade, for some minutes.
    is_complete: bool
    totals: SatisfactionReportTotals
    # As many days before.
    previous: SatisfactionReportPrevious
    intervals: List[SatisfactionReportInterval]
    rows: List[SatisfactionReportRow]


class SatisfactionReportInterval(TypedDict):
    # Its first day in the period. Weeks begin on Monday.
    start: str
    # Questions that were sent in the period. Those that did not reach the customer are not counted.
    asked: int
    # Those of them that have a rating by now. The response rate is `answered` / `asked`.
    answered: int
    # Ratings that came in the period, whatever day the question was.
    ratings: int
    # Of these ratings: how many are 1, 2, 3, 4 and 5.
    by_rating: List[int]
    # Of these ratings: exact, rounded to a hundredth. Null without a rating.
    mean_rating: Optional[float]


class SatisfactionReportPrevious(TypedDict):
    """As many days before."""

    from_day: str
    to_day: str
    # Questions that were sent in the period. Those that did not reach the customer are not counted.
    asked: int
    # Those of them that have a rating by now. The response rate is `answered` / `asked`.
    answered: int
    # Ratings that came in the period, whatever day the question was.
    ratings: int
    # Of these ratings: how many are 1, 2, 3, 4 and 5.
    by_rating: List[int]
    # Of these ratings: exact, rounded to a hundredth. Null without a rating.
    mean_rating: Optional[float]


class SatisfactionReportRow(TypedDict):
    # Of the member who replied last before the question, of the team, connection or label. Null: none.
    id: Optional[str]
    # Null if it does not exist any more, or if `id` is null.
    name: Optional[str]
    # Hex, assigned by the service.
    color: Optional[str]
    # Questions that were sent in the period. Those that did not reach the customer are not counted.
    asked: int
    # Those of them that have a rating by now. The response rate is `answered` / `asked`.
    answered: int
    # Ratings that came in the period, whatever day the question was.
    ratings: int
    # Of these ratings: how many are 1, 2, 3, 4 and 5.
    by_rating: List[int]
    # Of these ratings: exact, rounded to a hundredth. Null without a rating.
    mean_rating: Optional[float]
    previous: SatisfactionReportRowPrevious


class SatisfactionReportRowPrevious(TypedDict):
    # Questions that were sent in the period. Those that did not reach the customer are not counted.
    asked: int
    # Those of them that have a rating by now. The response rate is `answered` / `asked`.
    answered: int
    # Ratings that came in the period, whatever day the question was.
    ratings: int
    # Of these ratings: how many are 1, 2, 3, 4 and 5.
    by_rating: List[int]
    # Of these ratings: exact, rounded to a hundredth. Null without a rating.
    mean_rating: Optional[float]


class SatisfactionReportTotals(TypedDict):
    # Questions that were sent in the period. Those that did not reach the customer are not counted.
    asked: int
    # Those of them that have a rating by now. The response rate is `answered` / `asked`.
    answered: int
    # Ratings that came in the period, whatever day the question was.
    ratings: int
    # Of these ratings: how many are 1, 2, 3, 4 and 5.
    by_rating: List[int]
    # Of these ratings: exact, rounded to a hundredth. Null without a rating.
    mean_rating: Optional[float]


class ScheduledContent(TypedDict, total=False):
    """The content of the request."""

    # `text` when absent.
    type: Literal["text", "template", "image", "video", "document", "audio", "interactive", "location"]
    # The text of a text message, at most 4096 characters; the caption of an image, video or document, at most 1024.
    text: str
    media_url: str
    # Shown in the chat for a document.
    filename: str
    template: TemplateSend
    interactive: Interactive
    location: Location


class ScheduledMessage(TypedDict):
    id: str
    conversation_id: str
    # `scheduled` waits for its time. `held` was due, but the customer had written: change its time, send or cancel
    # it. `failed` could not be sent; `error` has the reason.
    state: Literal["scheduled", "held", "sending", "sent", "failed", "canceled"]
    send_at: str
    # The message is held instead of sent if the customer writes before its time.
    hold_if_customer_writes: bool
    content: ScheduledContent
    # The message that it quotes.
    reply_to_message_id: Optional[str]
    # The message, once it is sent. Also set if the channel refused it: its error is in the message.
    message_id: Optional[str]
    # Why it failed, else null.
    error: Optional[str]
    author: ScheduledMessageAuthor
    created_at: str
    updated_at: str


class ScheduledMessageAuthor(TypedDict):
    type: Literal["member", "api_key"]
    id: str
    # The name of the member or of the API key. Null for a removed member.
    name: Optional[str]


class ScheduledMessageChanges(TypedDict, total=False):
    # `text` when absent.
    type: Literal["text", "template", "image", "video", "document", "audio", "interactive", "location"]
    # The text of a text message, at most 4096 characters; the caption of an image, video or document, at most 1024.
    text: str
    # A public URL; required for image, video, document and audio.
    media_url: str
    # Shown in the chat for a document.
    filename: str
    template: TemplateSend
    interactive: Interactive
    location: Location
    # An earlier message of the same conversation to quote.
    reply_to_message_id: str
    # When to send it: from now to 90 days ahead.
    send_at: str
    # True: if the customer writes before that time, the message is held and not sent. A reaction does not count.
    hold_if_customer_writes: bool


class SecretRotation(TypedDict, total=False):
    # How long the previous secret also signs. With 0, or when absent, all earlier secrets stop at once.
    overlap_hours: int


class Segment(TypedDict):
    id: str
    name: str
    description: Optional[str]
    # Hex, assigned by the service.
    color: str
    kind: Literal["static", "dynamic"]
    filter: StoredFilter
    created_at: str
    updated_at: str


class SegmentChanges(TypedDict, total=False):
    # 1 to 80 characters. Unique in the workspace without regard to case.
    name: str
    description: Optional[str]
    filter: Filter


class SendResult(TypedDict):
    message_id: str
    msgapp_message_id: str
    conversation_id: str
    contact_id: str
    # Whether this call created the contact.
    contact_created: bool


class SocialMessageReceived(TypedDict):
    channel: Literal["social"]
    conversation_id: str
    contact_id: str
    content_type: Literal["text", "image", "video", "audio", "document", "sticker", "location", "contacts", "interactive", "button", "reaction", "template", "unsupported"]
    # The text, the caption, the title of a tapped button, an emoji.
    text: Optional[str]
    message: Message
    contact: Contact
    social_message_id: str


class StartedRun(TypedDict):
    conversation_id: str
    run_id: Optional[str]
    # Why no run was started.
    error: Optional[str]


class StoredFilterGroup(TypedDict):
    """A group of rules that counts as one rule of the filter."""

    match: Literal["all", "any"]
    field: Literal["group"]
    # The same as `match`.
    op: Literal["all", "any"]
    # Empty.
    value: str
    rules: List[FilterRule]


class StoredFilterValue(TypedDict):
    """Null for a static segment."""

    match: Literal["all", "any"]
    rules: List[Union[FilterRule, StoredFilterGroup]]


class Tag(TypedDict):
    id: str
    name: str
    # Hex, assigned by the service.
    color: str


class TakenOver(TypedDict):
    id: str
    # Whether there was an open run.
    stopped: bool


class TargetsReport(TypedDict):
    name: Literal["targets"]
    by: Literal["target", "member", "team", "connection", "label"]
    from_day: str
    # The last day, included.
    to_day: str
    # The days are those of this zone: the workspace’s.
    time_zone: str
    interval: Literal["day", "week", "month"]
    # The time zone of the workspace has changed, and its days are being counted again. `time_zone` is still the
    # former one.
    is_rebuilding: bool
    # False while many past episodes are being counted: after an upgrade, for some minutes.
    is_complete: bool
    # An episode has at most one outcome of each target and kind. A miss counts on the day on which the time ran
    # out, a met one on the day of the reply or the closing.
    totals: TargetsReportTotals
    # As many days before.
    previous: TargetsReportPrevious
    intervals: List[TargetsReportInterval]
    # One per target, member, team, connection or label with an outcome in one of the periods.
    rows: List[TargetsReportRow]


class TargetsReportInterval(TypedDict):
    # Its first day in the period. Weeks begin on Monday.
    start: str
    first_reply: TargetsReportIntervalFirstReply
    next_reply: TargetsReportIntervalNextReply
    closing: TargetsReportIntervalClosing


class TargetsReportIntervalClosing(TypedDict):
    met: int
    missed: int


class TargetsReportIntervalFirstReply(TypedDict):
    met: int
    missed: int


class TargetsReportIntervalNextReply(TypedDict):
    met: int
    missed: int


class TargetsReportPrevious(TypedDict):
    """As many days before."""

    from_day: str
    to_day: str
    first_reply: TargetsReportPreviousFirstReply
    next_reply: TargetsReportPreviousNextReply
    closing: TargetsReportPreviousClosing


class TargetsReportPreviousClosing(TypedDict):
    met: int
    missed: int


class TargetsReportPreviousFirstReply(TypedDict):
    met: int
    missed: int


class TargetsReportPreviousNextReply(TypedDict):
    met: int
    missed: int


class TargetsReportRow(TypedDict):
    # Of the target; of the member or team who had the conversation when the outcome was decided; of the connection
    # or label. Null: none.
    id: Optional[str]
    # Null if it does not exist any more, or if `id` is null.
    name: Optional[str]
    # Hex, assigned by the service.
    color: Optional[str]
    # Of a target.
    is_deleted: bool
    first_reply: TargetsReportRowFirstReply
    next_reply: TargetsReportRowNextReply
    closing: TargetsReportRowClosing
    previous: TargetsReportRowPrevious


class TargetsReportRowClosing(TypedDict):
    met: int
    missed: int


class TargetsReportRowFirstReply(TypedDict):
    met: int
    missed: int


class TargetsReportRowNextReply(TypedDict):
    met: int
    missed: int


class TargetsReportRowPrevious(TypedDict):
    first_reply: TargetsReportRowPreviousFirstReply
    next_reply: TargetsReportRowPreviousNextReply
    closing: TargetsReportRowPreviousClosing


class TargetsReportRowPreviousClosing(TypedDict):
    met: int
    missed: int


class TargetsReportRowPreviousFirstReply(TypedDict):
    met: int
    missed: int


class TargetsReportRowPreviousNextReply(TypedDict):
    met: int
    missed: int


class TargetsReportTotals(TypedDict):
    """An episode has at most one outcome of each target and kind. A miss counts on the day on which the time ran
    out, a met one on the day of the reply or the closing.
    """

    first_reply: TargetsReportTotalsFirstReply
    next_reply: TargetsReportTotalsNextReply
    closing: TargetsReportTotalsClosing


class TargetsReportTotalsClosing(TypedDict):
    met: int
    missed: int


class TargetsReportTotalsFirstReply(TypedDict):
    met: int
    missed: int


class TargetsReportTotalsNextReply(TypedDict):
    met: int
    missed: int


class Team(TypedDict):
    id: str
    # Unique in the workspace, without regard to case.
    name: str
    # Hex.
    color: str
    # Its members (`GET /members`), oldest first.
    member_ids: List[str]
    # The connections that it serves (`GET /connections`): their new conversations are assigned to it.
    connection_ids: List[str]
    created_at: str


class Template(TypedDict):
    name: str
    language: str
    # The id of the provider account that owns it. Its numbers can send it.
    account: Optional[str]
    # In the spelling of the channel: `MARKETING`, `UTILITY`, `AUTHENTICATION`.
    category: str
    # In the spelling of the channel: `APPROVED`, `PENDING`, `REJECTED`, `PAUSED`. Only approved ones are sent.
    status: str
    # The channel's reason for the status.
    status_reason: Optional[str]
    # Header, body, footer, buttons and cards, as the channel has them.
    components: List[Dict[str, Any]]
    # The values that the template needs, as `template.params` of a message, with placeholders instead of values.
    # Null if the template cannot be sent.
    params: Optional[TemplateParams]
    updated_at: str


class TemplateParams(TypedDict, total=False):
    """Values for parts that the template does not have are ignored."""

    headerMediaUrl: str
    headerMediaId: str
    body: List[str]
    bodyNamed: Dict[str, str]
    buttonParams: Dict[str, str]
    headerText: str
    headerFilename: str
    headerLocation: TemplateParamsHeaderLocation
    # One entry per carousel card, in card order.
    cards: List[TemplateParamsCard]


class TemplateParamsCard(TypedDict, total=False):
    headerMediaUrl: str
    headerMediaId: str
    body: List[str]
    bodyNamed: Dict[str, str]
    buttonParams: Dict[str, str]


class _TemplateParamsHeaderLocationRequired(TypedDict):
    latitude: str
    longitude: str


class TemplateParamsHeaderLocation(_TemplateParamsHeaderLocationRequired, total=False):
    name: str
    address: str


class _TemplateSendRequired(TypedDict):
    # The approved template's name.
    name: str


class TemplateSend(_TemplateSendRequired, total=False):
    # `en_US` when absent.
    language: str
    # Body values in placeholder order, or an object with the values of each part.
    params: Union[List[str], TemplateParams]
    # True fills fields of the contact in values, with a fallback for an empty field: `{{contact.name|there}}`. The
    # fields are `name`, `phone`, `email`, `company` and `attributes.NAME` for an attribute. Otherwise values are
    # literal.
    contact_fields: bool


class Usage(TypedDict):
    # The calendar month, in UTC.
    month: str
    # The messages that count against the plan, including those that running broadcasts have reserved.
    messages_sent: int
    # The messages that the plan allows per month; null without a limit.
    messages_limit: Optional[int]
    resets_at: str


class WebMessageReceived(TypedDict):
    channel: Literal["web"]
    conversation_id: str
    contact_id: str
    content_type: Literal["text", "image", "video", "audio", "document", "sticker", "location", "contacts", "interactive", "button", "reaction", "template", "unsupported"]
    # The text, the caption, the title of a tapped button, an emoji.
    text: Optional[str]
    message: Message
    contact: Contact
    message_id: str


class Webhook(TypedDict):
    id: str
    url: str
    events: List[Literal["message.received", "message.status_updated", "conversation.created", "contact.created"]]
    # Becomes false after 15 consecutive failed events; nothing is sent while false.
    is_active: bool
    # The time of the last success.
    last_delivery_at: Optional[str]
    # Consecutive failed events; a success resets it to 0.
    failure_count: int
    created_at: str
    # `api`, or the automation tool that was connected in the dashboard. No effect on delivery.
    provider: Literal["api", "tool_a", "tool_b"]


class WebhookChanges(TypedDict, total=False):
    # https, without credentials. Every address its name resolves to must be public.
    url: str
    # The events to send; duplicates are ignored.
    events: List[Literal["message.received", "message.status_updated", "conversation.created", "contact.created"]]
    # True also resets the failures; false cancels the queued deliveries.
    is_active: bool


class WebhookDelivery(TypedDict):
    id: str
    # The `id` in the body; the same when an event is sent again.
    event_id: str
    # The name of the event.
    event: str
    status: Literal["pending", "delivered", "failed", "canceled"]
    attempt_count: int
    created_at: str
    # Null when the delivery has ended, and while an attempt is in flight.
    next_attempt_at: Optional[str]
    attempts: List[WebhookDeliveryAttempt]


class WebhookDeliveryAttempt(TypedDict):
    # From 1; 0 if the delivery was canceled before its first attempt.
    attempt: int
    # The status of the delivery after this attempt.
    status: Literal["pending", "delivered", "failed", "canceled"]
    # Null if there was no response.
    http_status: Optional[int]
    duration_ms: Optional[int]
    # Why the attempt failed; null after a success.
    error: Optional[str]
    # The beginning of the response body, at most 16 KB.
    response: Optional[str]
    at: str


AutomationDefinition = Dict[str, Any]


CreateContactsResult = List['ContactBatchResult']


Event = Union['MessageReceived', 'MessageStatusUpdated', 'ConversationCreated', 'ContactCreated']


Interactive = Union['InteractiveButtons', 'InteractiveList', 'InteractiveLink']


StartAutomationResult = List['StartedRun']


StoredFilter = Optional['StoredFilterValue']
