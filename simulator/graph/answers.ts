/** Answers of the provider's API: success, error, or the failure that a fault injects. */
import type { ServerResponse } from 'node:http'
import type { FaultEffects } from '../state/faults.ts'
import { journalFullMessage } from '../state/journal.ts'
import { type Failure, failure, failureBody } from '../wire/errors.ts'
import { sendJson } from '../wire/http.ts'
import type { World } from '../world.ts'

/** Answers a send as the faults say, or leaves it unanswered. Returns false when no fault refuses the send. */
export function refuse(world: World, effects: Readonly<FaultEffects>, response: ServerResponse): boolean {
  const { refuse: refusal } = effects
  if (!refusal) return false
  if (refusal === 'hang') hang(world, response)
  else {
    const options = refusal.http ? { status: refusal.http } : {}
    sendFailure(response, failure(refusal.code, undefined, options), effects.delayMs)
  }
  return true
}

export const journalFullFailure = ({ quotas }: World): Failure =>
  failure(131016, journalFullMessage(quotas.journalBytes))

export function sendFailure(response: ServerResponse, error: Failure, delayMs = 0): void {
  afterDelay(delayMs, () => sendJson(response, error.status, failureBody(error)))
}

/** Answers an accepted message, or drops the connection if a fault says so. */
export function sendAccepted(
  response: ServerResponse,
  json: string,
  { dropConnection, delayMs }: Readonly<FaultEffects>,
): void {
  if (dropConnection) afterDelay(delayMs, () => response.socket?.destroy())
  else afterDelay(delayMs, () => sendJson(response, 200, json))
}

function afterDelay(delayMs: number, run: () => void): void {
  if (delayMs > 0) setTimeout(run, delayMs)
  else run()
}

function hang(world: World, response: ServerResponse): void {
  world.hanging.add(response)
  const timer = setTimeout(() => response.socket?.destroy(), world.times.hangMs)
  response.on('close', () => {
    clearTimeout(timer)
    world.hanging.delete(response)
  })
}
