/** `POST /simulator/control/callback`: a body of the caller's own, completed with the ids of the account. */
import { type AccountState, recordCustomer, recordUserId } from '../state/accounts.ts'
import { isObject, type Json, objectsIn } from '../wire/http.ts'
import { keyOf, waIdOf } from '../wire/ids.ts'

const lacks = (object: Json, name: string) => object[name] === undefined || object[name] === null || object[name] === ''

/** Fills in the account's ids where the body lacks them. Unknown shapes stay unchanged. */
export function fillInAccountIds({ account, channel }: AccountState, body: unknown): void {
  if (!account || !isObject(body)) return
  for (const entry of objectsIn(body.entry)) {
    if (lacks(entry, 'id')) entry.id = account.account_id
    for (const { field, value } of objectsIn(entry.changes)) {
      if (channel !== 'msgapp' || !isObject(value)) continue
      const isAboutMessages = field === 'messages' || value.messages !== undefined || value.statuses !== undefined
      if (lacks(value, 'metadata') && isAboutMessages) value.metadata = {}
      if (!isObject(value.metadata)) continue
      for (const name of ['display_phone_number', 'phone_number_id'] as const) {
        if (lacks(value.metadata, name)) value.metadata[name] = account[name]
      }
    }
    if (channel !== 'social') continue
    for (const item of objectsIn(entry.messaging)) {
      // The sender of an echo is the business.
      const own = isObject(item.message) && item.message.is_echo === true ? 'sender' : 'recipient'
      if (lacks(item, own)) item[own] = {}
      const side = item[own]
      if (isObject(side) && lacks(side, 'id')) side.id = account.account_id
    }
  }
}

/** Opens the 24-hour window of the customers whose messages are in the body. */
export function recordSenders(state: AccountState, body: unknown): void {
  const unnamed = { name: null, username: null }
  for (const entry of isObject(body) ? objectsIn(body.entry) : []) {
    for (const { value } of objectsIn(entry.changes)) {
      for (const { from, from_user_id, timestamp } of isObject(value) ? objectsIn(value.messages) : []) {
        const at = Number(timestamp) * 1000
        if (!(at > 0)) continue
        const number = typeof from === 'string' ? waIdOf(keyOf(from)) : ''
        if (number !== '') recordCustomer(state, number, at, unnamed)
        if (typeof from_user_id !== 'string') continue
        recordCustomer(state, from_user_id, at, unnamed)
        recordUserId(state.business, from_user_id, number)
      }
    }
    if (state.channel !== 'social') continue
    for (const { sender, message, timestamp } of objectsIn(entry.messaging)) {
      if (!isObject(sender) || typeof sender.id !== 'string' || !isObject(message) || message.is_echo === true) continue
      if (typeof timestamp === 'number') recordCustomer(state, sender.id, timestamp, unnamed)
    }
  }
}
