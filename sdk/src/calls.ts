/** All calls of the API. Generated from the OpenAPI document by `npm run sdk-types`. */
import type {
  AddSegmentContactsResult,
  AddedRecipients,
  Automation,
  AutomationChange,
  AutomationDefinition,
  AutomationDryRun,
  AutomationDryRunRequest,
  AutomationPause,
  AutomationRun,
  AutomationRunDetail,
  AutomationSecret,
  AutomationStart,
  AvailabilityReport,
  Broadcast,
  BroadcastRecipient,
  CheckedBroadcast,
  CheckedDefinition,
  CheckedMessage,
  Connection,
  Contact,
  ContactBatch,
  ContactChanges,
  ContactIds,
  ContactMerge,
  Conversation,
  ConversationChanges,
  CountedSegment,
  CountedTag,
  CreateContactsResult,
  CreatedWebhook,
  DeleteAutomationResult,
  DeleteBroadcastResult,
  DeleteContactResult,
  DeleteSegmentResult,
  DeleteWebhookResult,
  Episode,
  GetAvailabilityReportQuery,
  GetReportQuery,
  GetSatisfactionReportQuery,
  GetTargetsReportQuery,
  GetTemplateQuery,
  ListAutomationRunsQuery,
  ListBroadcastRecipientsQuery,
  ListBroadcastsQuery,
  ListContactsQuery,
  ListConversationsQuery,
  ListEpisodesQuery,
  ListMembersQuery,
  ListMessagesQuery,
  ListNotesQuery,
  ListScheduledMessagesQuery,
  ListSegmentContactsQuery,
  ListSegmentsQuery,
  ListTagsQuery,
  ListTemplatesQuery,
  ListWebhookDeliveriesQuery,
  Me,
  Member,
  Message,
  NewAutomation,
  NewBroadcast,
  NewContact,
  NewMessage,
  NewNote,
  NewRecipients,
  NewReply,
  NewScheduledMessage,
  NewSegment,
  NewWebhook,
  Note,
  RemoveSegmentContactsResult,
  Report,
  SatisfactionReport,
  SaveAutomationDraftQuery,
  ScheduledMessage,
  ScheduledMessageChanges,
  SecretRotation,
  Segment,
  SegmentChanges,
  SendResult,
  StartAutomationResult,
  TakenOver,
  TargetsReport,
  Team,
  Template,
  Usage,
  Webhook,
  WebhookChanges,
  WebhookDelivery,
} from './types.ts'

/** `data` is the response of a call, `item` the element type of a list. */
export type Calls = {
  'DELETE /automations/{id}': { params: { id: string }; data: DeleteAutomationResult }
  'DELETE /broadcasts/{id}': { params: { id: string }; data: DeleteBroadcastResult }
  'DELETE /contacts/{id}': { params: { id: string }; data: DeleteContactResult }
  'DELETE /scheduled-messages/{id}': { params: { id: string }; data: ScheduledMessage }
  'DELETE /segments/{id}': { params: { id: string }; data: DeleteSegmentResult }
  'DELETE /segments/{id}/contacts': { params: { id: string }; body: ContactIds; data: RemoveSegmentContactsResult }
  'DELETE /webhooks/{id}': { params: { id: string }; data: DeleteWebhookResult }
  'GET /automation-runs/{id}': { params: { id: string }; data: AutomationRunDetail }
  'GET /automations': { item: Automation }
  'GET /automations/{id}': { params: { id: string }; data: Automation }
  'GET /automations/{id}/runs': { params: { id: string }; query: ListAutomationRunsQuery; item: AutomationRun }
  'GET /broadcasts': { query: ListBroadcastsQuery; item: Broadcast }
  'GET /broadcasts/{id}': { params: { id: string }; data: Broadcast }
  'GET /broadcasts/{id}/recipients': { params: { id: string }; query: ListBroadcastRecipientsQuery; item: BroadcastRecipient }
  'GET /connections': { item: Connection }
  'GET /connections/{id}': { params: { id: string }; data: Connection }
  'GET /contacts': { query: ListContactsQuery; item: Contact }
  'GET /contacts/{id}': { params: { id: string }; data: Contact }
  'GET /conversations': { query: ListConversationsQuery; item: Conversation }
  'GET /conversations/{id}': { params: { id: string }; data: Conversation }
  'GET /conversations/{id}/messages': { params: { id: string }; query: ListMessagesQuery; item: Message }
  'GET /conversations/{id}/notes': { params: { id: string }; query: ListNotesQuery; item: Note }
  'GET /conversations/{id}/scheduled-messages': { params: { id: string }; query: ListScheduledMessagesQuery; item: ScheduledMessage }
  'GET /episodes': { query: ListEpisodesQuery; item: Episode }
  'GET /me': { data: Me }
  'GET /members': { query: ListMembersQuery; item: Member }
  'GET /messages/{id}': { params: { id: string }; data: Message }
  'GET /reports/availability': { query: GetAvailabilityReportQuery; data: AvailabilityReport }
  'GET /reports/satisfaction': { query: GetSatisfactionReportQuery; data: SatisfactionReport }
  'GET /reports/targets': { query: GetTargetsReportQuery; data: TargetsReport }
  'GET /reports/{name}': { params: { name: string }; query: GetReportQuery; data: Report }
  'GET /scheduled-messages/{id}': { params: { id: string }; data: ScheduledMessage }
  'GET /segments': { query: ListSegmentsQuery; item: Segment }
  'GET /segments/{id}': { params: { id: string }; data: CountedSegment }
  'GET /segments/{id}/contacts': { params: { id: string }; query: ListSegmentContactsQuery; item: Contact }
  'GET /tags': { query: ListTagsQuery; item: CountedTag }
  'GET /teams': { item: Team }
  'GET /templates': { query: ListTemplatesQuery; item: Template }
  'GET /templates/{name}': { params: { name: string }; query: GetTemplateQuery; data: Template }
  'GET /usage': { data: Usage }
  'GET /webhooks': { item: Webhook }
  'GET /webhooks/{id}': { params: { id: string }; data: Webhook }
  'GET /webhooks/{id}/deliveries': { params: { id: string }; query: ListWebhookDeliveriesQuery; item: WebhookDelivery }
  'PATCH /automations/{id}': { params: { id: string }; body: AutomationChange; data: Automation }
  'PATCH /contacts/{id}': { params: { id: string }; body: ContactChanges; data: Contact }
  'PATCH /conversations/{id}': { params: { id: string }; body: ConversationChanges; data: Conversation }
  'PATCH /scheduled-messages/{id}': { params: { id: string }; body: ScheduledMessageChanges; data: ScheduledMessage }
  'PATCH /segments/{id}': { params: { id: string }; body: SegmentChanges; data: CountedSegment }
  'PATCH /webhooks/{id}': { params: { id: string }; body: WebhookChanges; data: Webhook }
  'POST /automations': { body: NewAutomation; data: Automation }
  'POST /automations/check': { body: AutomationDefinition; data: CheckedDefinition }
  'POST /automations/{id}/dry-run': { params: { id: string }; body: AutomationDryRunRequest; data: AutomationDryRun }
  'POST /automations/{id}/pause': { params: { id: string }; body: AutomationPause; data: Automation }
  'POST /automations/{id}/publish': { params: { id: string }; data: Automation }
  'POST /automations/{id}/rotate-secret': { params: { id: string }; data: AutomationSecret }
  'POST /automations/{id}/runs': { params: { id: string }; body: AutomationStart; data: StartAutomationResult }
  'POST /broadcasts': { body: NewBroadcast; data: Broadcast }
  'POST /broadcasts/check': { body: NewBroadcast; data: CheckedBroadcast }
  'POST /broadcasts/{id}/cancel': { params: { id: string }; data: Broadcast }
  'POST /broadcasts/{id}/pause': { params: { id: string }; data: Broadcast }
  'POST /broadcasts/{id}/recipients': { params: { id: string }; body: NewRecipients; data: AddedRecipients }
  'POST /broadcasts/{id}/resume': { params: { id: string }; data: Broadcast }
  'POST /broadcasts/{id}/start': { params: { id: string }; data: Broadcast }
  'POST /contacts': { body: NewContact; data: Contact }
  'POST /contacts/batch': { body: ContactBatch; data: CreateContactsResult }
  'POST /contacts/{id}/merge': { params: { id: string }; body: ContactMerge; data: Contact }
  'POST /conversations/{id}/messages': { params: { id: string }; body: NewReply; data: Message }
  'POST /conversations/{id}/notes': { params: { id: string }; body: NewNote; data: Note }
  'POST /conversations/{id}/read': { params: { id: string }; data: Conversation }
  'POST /conversations/{id}/scheduled-messages': { params: { id: string }; body: NewScheduledMessage; data: ScheduledMessage }
  'POST /conversations/{id}/take-over': { params: { id: string }; data: TakenOver }
  'POST /messages': { body: NewMessage; data: SendResult }
  'POST /messages/check': { body: NewMessage; data: CheckedMessage }
  'POST /segments': { body: NewSegment; data: CountedSegment }
  'POST /segments/{id}/contacts': { params: { id: string }; body: ContactIds; data: AddSegmentContactsResult }
  'POST /webhooks': { body: NewWebhook; data: CreatedWebhook }
  'POST /webhooks/{id}/deliveries/{delivery_id}/redeliver': { params: { id: string; delivery_id: string }; data: WebhookDelivery }
  'POST /webhooks/{id}/rotate-secret': { params: { id: string }; body: SecretRotation; data: CreatedWebhook }
  'PUT /automations/{id}/draft': { params: { id: string }; query: SaveAutomationDraftQuery; body: AutomationDefinition; data: Automation }
}
