/** The public interface of the package. */
export { type ClientErrorCode, type ErrorCode, ParleyError, type ServiceErrorCode } from './errors.ts'
export type { WebhookEvent } from './events.ts'
export type { ChangePage, ChangePosition, Listing, Page } from './listing.ts'
export { Parley, type ParleyOptions } from './parley.ts'
export type { CallOptions, Fetch, PostOptions } from './request.ts'
export type { EventStream, StreamedEvent, StreamOptions, StreamQuery } from './stream.ts'
export type * from './types.ts'
export { type Delivery, verifyWebhook } from './verify.ts'
