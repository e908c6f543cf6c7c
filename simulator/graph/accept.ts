/** Accepts a validated message of either channel: journal, answer, phone, then status reports. */
import type { ServerResponse } from 'node:http'
import type { InFlightMessage, PlanName } from '../delivery/statuses.ts'
import type { AccountState } from '../state/accounts.ts'
import type { FaultEffects } from '../state/faults.ts'
import type { Json } from '../wire/http.ts'
import type { World } from '../world.ts'
import { sendAccepted } from './answers.ts'

type AcceptedMessage = {
  id: string
  /** The key of the recipient in the state of the account. */
  recipient: string
  /** The recipient as the phone page and `GET /control/sent` show it. */
  to: string
  at: number
  plan: PlanName
  effects: Readonly<FaultEffects>
  body: Json
  /** The body as the caller sent it. */
  text: string
  reportFields: Pick<InFlightMessage, 'state' | 'recipient' | 'callback_data' | 'content'>
  /** The provider's answer, as JSON. */
  answer: string
}

/** Answers after the message is in the journal, so an accepted message survives a crash. */
export function accept(world: World, state: AccountState, response: ServerResponse, message: AcceptedMessage): void {
  const { id, recipient, to, at, plan, effects, body, text, reportFields, answer } = message
  const { workspace_id, channel, connection_id } = state
  const { duplicateStatuses } = effects
  const connection = connection_id === undefined ? '' : `,"n":"${connection_id}"`
  // A journal line holds no newline, so a multi-line body is serialised again.
  const raw = text.includes('\n') ? JSON.stringify(body) : text
  const line =
    `{"k":"m","p":"${plan}"${duplicateStatuses ? ',"x":1' : ''}${connection},"r":"${recipient}","message_id":"${id}",` +
    `"workspace_id":"${workspace_id}","channel":"${channel}","to":"${to}","at":"${new Date(at).toISOString()}","body":${raw}}`
  world.journal.append(line, (offset, length) => {
    const seq = world.sent.add(state, recipient, offset, length)
    const entry = world.phones.add(workspace_id, channel, to, {
      connection_id,
      id,
      from: 'business',
      offset,
      length,
      status: 'accepted',
    })
    sendAccepted(response, answer, effects)
    world.phones.publish(entry)
    world.statuses.start({ ...reportFields, seq, id, at, plan, duplicateStatuses, entry, acceptedSteps: 0 })
  })
}
