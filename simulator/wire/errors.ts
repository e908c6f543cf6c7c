/** The provider's errors by code: message, HTTP status, and their format in an answer and in a callback. */
import { randomBytes } from 'node:crypto'

export type Failure = {
  code: number
  status: number
  type: string
  message: string
  subcode: number | undefined
  details: string | undefined
}

/** Title and HTTP status. The provider no longer documents the statuses; these are the last documented ones. */
const codes: Record<number, readonly [title: string, status: number]> = {
  0: ['AuthException', 401],
  1: ['API Unknown', 400],
  2: ['Service temporarily unavailable', 503],
  3: ['API Method', 500],
  4: ['Application request limit reached', 400],
  10: ['Application does not have permission for this action', 403],
  33: ['Parameter value is not valid', 400],
  100: ['Invalid parameter', 400],
  190: ['Invalid OAuth access token', 401],
  200: ['Permissions error', 403],
  368: ['Temporarily blocked for policies violations', 403],
  551: ["This person isn't available right now.", 400],
  613: ['Calls to this api have exceeded the rate limit.', 400],
  80007: ['Rate limit issues', 400],
  80008: ['There have been too many calls to this WhatsApp Business account', 400],
  130403: ['You blocked this user', 400],
  130429: ['Rate limit hit', 400],
  130472: ["User's number is part of an experiment", 400],
  130497: ['Business account is restricted from messaging users in this country', 403],
  131000: ['Something went wrong', 500],
  131005: ['Access denied', 403],
  131008: ['Required parameter is missing', 400],
  131009: ['Parameter value is not valid', 400],
  131016: ['Service unavailable', 500],
  131021: ['Recipient cannot be sender', 400],
  131026: ['Message undeliverable', 400],
  131030: ['Recipient phone number not in allowed list', 400],
  131031: ['Business Account locked', 403],
  131037: ['WhatsApp provided number needs display name approval before message can be sent.', 400],
  131042: ['Business eligibility payment issue', 400],
  131045: ['Incorrect certificate', 500],
  131047: ['Re-engagement message', 400],
  131048: ['Spam rate limit hit', 400],
  131049: ['This message was not delivered to maintain healthy ecosystem engagement.', 400],
  131050: ['User has stopped marketing messages', 400],
  131051: ['Unsupported message type', 400],
  131052: ['Media download error', 400],
  131053: ['Media upload error', 400],
  131056: ['(Business Account, Consumer Account) pair rate limit hit', 400],
  131057: ['Account in maintenance mode', 500],
  131062: ['Business-scoped user id is not supported for this message', 400],
  131063: ['Marketing templates are disabled', 400],
  131064: ['Limited for template misclassification', 400],
  132000: ['Number of parameters does not match the expected number of params', 400],
  132001: ['Template name does not exist in the translation', 404],
  132005: ['Translated text too long', 400],
  132007: ['Template format character policy violated', 400],
  132008: ['Parameter value does not match the expected value', 400],
  132012: ['Parameter format does not match format in the created template', 400],
  132015: ['Template is paused', 400],
  132016: ['Template is disabled', 400],
  132018: ["There's an issue with the parameters in your template.", 400],
  132068: ['Flow is in blocked state', 400],
  132069: ['Flow is in throttled state', 400],
  133000: ['Incomplete deregistration', 500],
  133004: ['Server temporarily unavailable', 503],
  133006: ['Phone number re-verification needed', 400],
  133010: ['Phone number not registered', 400],
  133015: ['Please wait a few minutes before attempting to register this phone number', 400],
  134100: ['Only marketing messages are supported', 400],
  134101: ['Template still syncing', 400],
  134102: ['Template unavailable for use', 500],
  135000: ['Generic user error', 400],
  137000: ['Identity key hash mismatch', 400],
  139100: ['Failed to block or unblock some users', 400],
  2494100: ['Phone number in maintenance', 400],
}

/** Default details of errors that status reports show to people. */
const details: Record<number, string> = {
  131000: 'Something went wrong.',
  131026: 'Message Undeliverable.',
  131047:
    'Message failed to send because more than 24 hours have passed since the customer last replied to this number.',
  131053: 'Media file type does not match the type of the message.',
  131056:
    'Message failed to send because there were too many messages sent from this phone number to the same phone number in a short period of time.',
  130429:
    'Message failed to send because there were too many messages sent from this phone number in a short period of time.',
  132015: 'Template is paused due to low quality.',
}

export function failure(
  code: number,
  reason?: string,
  { subcode, status, type, message }: { subcode?: number; status?: number; type?: string; message?: string } = {},
): Failure {
  const [title, usualStatus] = codes[code] ?? ['An unknown error has occurred.', 400]
  return {
    code,
    status: status ?? usualStatus,
    type: type ?? 'OAuthException',
    message: message ?? `(#${code}) ${title}`,
    subcode,
    details: reason ?? details[code],
  }
}

export const noSuchObject = (method: string, id: string) =>
  failure(100, undefined, {
    subcode: 33,
    type: 'GraphMethodException',
    message: `Unsupported ${method.toLowerCase()} request. Object with ID '${id}' does not exist, cannot be loaded due to missing permissions, or does not support this operation.`,
  })

export const badToken = () =>
  failure(190, undefined, { message: 'Invalid OAuth access token - Cannot parse access token' })

/** The JSON body of an error answer. */
export function failureBody({ code, type, message, subcode, details: reason }: Failure): string {
  return JSON.stringify({
    error: {
      message,
      type,
      code,
      ...(subcode === undefined ? {} : { error_subcode: subcode }),
      ...(reason === undefined ? {} : { error_data: { messaging_product: 'whatsapp', details: reason } }),
      fbtrace_id: `A${randomBytes(16).toString('base64url')}`,
    },
  })
}

/** The error in a status report. */
export function statusError(code: number) {
  const title = codes[code]?.[0] ?? 'An unknown error has occurred.'
  return {
    code,
    title,
    message: title,
    error_data: { details: details[code] ?? title },
    href: 'https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/',
  }
}

/** The error on the phone page. */
export const phoneError = (code: number | undefined): { code: number; message: string } | null =>
  code === undefined ? null : { code, message: statusError(code).title }
