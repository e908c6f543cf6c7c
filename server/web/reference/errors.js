// @ts-check
/**
 * What each error code means to the reader. Which codes exist is said by the
 * document; a test holds this list and its statuses to the service's own.
 */

/** @type {Record<string, { status: number, meaning: string }>} */
export const errorMeanings = {
  bad_request: {
    status: 400,
    meaning: 'Something in the request cannot be used. The message names the field and the rule it breaks.',
  },
  invalid_request: { status: 400, meaning: 'A filter asks for a value that does not exist.' },
  msgapp_not_configured: {
    status: 400,
    meaning: 'The workspace has no connection to the channel yet. Connect it in the dashboard, then send again.',
  },
  unauthorized: {
    status: 401,
    meaning: 'The key is missing, mistyped, revoked or expired. It is not told which.',
  },
  plan_limit_reached: { status: 402, meaning: 'The workspace used up its plan for this month. Reading goes on.' },
  subscription_lapsed: { status: 402, meaning: 'The subscription of the workspace lapsed. Reading goes on.' },
  forbidden: { status: 403, meaning: 'The key is good but lacks the scope of this operation. The message names it.' },
  not_found: { status: 404, meaning: 'There is no such thing in the workspace of this key.' },
  rate_limited: {
    status: 429,
    meaning: 'The key made over 120 requests in a minute. Wait as many seconds as `Retry-After` says.',
  },
  internal: { status: 500, meaning: 'Our fault. Try again later, and quote the `X-Request-Id` when you report it.' },
  template_malformed: {
    status: 500,
    meaning: 'The stored template cannot be turned into a message. Save it anew on the channel.',
  },
  platform_error: { status: 502, meaning: 'The channel refused the message. Ours quotes its reason.' },
}
