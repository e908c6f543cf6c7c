/** The envelopes of the provider's callbacks. */
import type { Json } from './http.ts'

/** A change of an account on msgapp. */
export const changeCallback = (accountId: string, field: string, value: Json, more: Json = {}): Json => ({
  object: 'whatsapp_business_account',
  entry: [{ id: accountId, ...more, changes: [{ value, field }] }],
})

type Sender = { account_id: string; display_phone_number: string; phone_number_id: string }

/** Messages or statuses of a number. */
export function messagesCallback(account: Sender | undefined, content: Json): Json {
  const { account_id = '', display_phone_number = '', phone_number_id = '' } = account ?? {}
  const metadata = { display_phone_number, phone_number_id }
  return changeCallback(account_id, 'messages', { messaging_product: 'whatsapp', metadata, ...content })
}

/** What happened in conversations on social. */
export const messagingCallback = (accountId: string, messaging: readonly Json[]): Json => ({
  object: 'instagram',
  entry: [{ id: accountId, time: Date.now(), messaging }],
})
