/** The meaning of each error code. A test compares codes and statuses with those of the service. */
export const errorMeanings: Record<string, { status: number; meaning: string }> = {
  bad_request: {
    status: 400,
    meaning: 'A value in the request is invalid. The message names the field and the rule.',
  },
  invalid_request: { status: 400, meaning: 'A filter value is not one of the allowed values.' },
  msgapp_not_configured: {
    status: 400,
    meaning: 'The workspace is not connected to the channel. Connect it in the dashboard and send again.',
  },
  unauthorized: {
    status: 401,
    meaning: 'The API key is missing, mistyped, revoked or expired. The response does not reveal which.',
  },
  plan_limit_reached: {
    status: 402,
    meaning: 'The workspace has used its message quota for this month. Read operations still work.',
  },
  subscription_lapsed: {
    status: 402,
    meaning: 'The subscription of the workspace has lapsed. Read operations still work.',
  },
  forbidden: { status: 403, meaning: 'The API key lacks the scope of this operation. The message names the scope.' },
  not_found: { status: 404, meaning: 'The workspace of this key has no such resource.' },
  rate_limited: {
    status: 429,
    meaning: 'The API key exceeded 120 requests per minute. Wait for the seconds in `Retry-After`.',
  },
  internal: {
    status: 500,
    meaning:
      'An error in the service. Try again later. Include the `X-Request-Id` when you report it. With the status 503, the database, its disk or the store of media files is not available: wait for the seconds in `Retry-After`.',
  },
  template_malformed: {
    status: 400,
    meaning: 'The stored template cannot be converted into a message. Save the template again on the channel.',
  },
  platform_error: {
    status: 502,
    meaning:
      'The channel rejected the message (`details.outcome` is `rejected`), could not be reached (`unsent`), or may have sent it (`unknown`). Repeat the send only after `unsent`, under a new `Idempotency-Key`. The message quotes the reason of the channel.',
  },
}
