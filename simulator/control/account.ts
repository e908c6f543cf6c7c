/** The body of `PUT /simulator/control/accounts`. */
import type { SimulatorAccount } from '../state/accounts.ts'
import { badRequest, isHttpUrl, type Json } from '../wire/http.ts'

const idPattern = /^[\w.-]{1,100}$/

export function parseAccount(body: Json): SimulatorAccount {
  const channel = body.channel
  if (channel !== 'msgapp' && channel !== 'social') throw badRequest('channel: msgapp or social')
  const text = (name: string, needed = true) => {
    const value = body[name]
    if (typeof value === 'string' && (value !== '' || !needed)) return value
    if (value === undefined && !needed) return ''
    throw badRequest(`${name}: a string is required`)
  }
  const pace = body.messages_per_second ?? 80
  if (typeof pace !== 'number' || !(pace > 0)) throw badRequest('messages_per_second: a number above 0')
  const callbackUrl = text('callback_url')
  if (!isHttpUrl(callbackUrl)) throw badRequest('callback_url: an http address')
  const workspaceId = text('workspace_id')
  if (!idPattern.test(workspaceId)) throw badRequest('workspace_id: letters, digits and hyphens')
  const connectionId = text('connection_id', false)
  if (connectionId !== '' && !idPattern.test(connectionId))
    throw badRequest('connection_id: letters, digits and hyphens')
  const [name, address] = [text('name', false), text('address', false)]
  const isChannelDefault = body.is_channel_default
  if (isChannelDefault !== undefined && typeof isChannelDefault !== 'boolean') {
    throw badRequest('is_channel_default: true or false')
  }
  return {
    workspace_id: workspaceId,
    channel,
    ...(connectionId === '' ? {} : { connection_id: connectionId }),
    ...(name === '' ? {} : { name }),
    ...(address === '' ? {} : { address }),
    ...(isChannelDefault === undefined ? {} : { is_channel_default: isChannelDefault }),
    account_id: text('account_id'),
    phone_number_id: text('phone_number_id', channel === 'msgapp'),
    display_phone_number: text('display_phone_number', false).replace(/\D/g, ''),
    business_name: text('business_name', false),
    access_token: text('access_token'),
    app_secret: text('app_secret'),
    verify_token: text('verify_token', false),
    callback_url: callbackUrl,
    messages_per_second: pace,
    is_default: false,
  }
}
