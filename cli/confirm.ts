/**
 * Dry runs: what is sent is what was shown.
 *
 * A dry run keeps what would be sent and answers a token. The token sends
 * exactly that, once, within ten minutes; other arguments than those of the dry
 * run are refused. It is the call's Idempotency-Key as well, so a send whose
 * answer got lost can be asked for again without a second message.
 */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { isPassing } from './api.ts'
import { Failure } from './target.ts'

export type Confirmations = {
  /** Keep what would be sent; answers the token that sends it. */
  keep(tool: string, body: object): { confirmation_token: string; expires_in_seconds: number }
  /** Send what was kept under this token, if it is this. */
  use<Answer>(
    token: string,
    tool: string,
    body: object,
    send: (idempotencyKey: string) => Promise<Answer>,
  ): Promise<Answer>
}

const keptMs = 10 * 60_000

export function createConfirmations(): Confirmations {
  const kept = new Map<string, { tool: string; body: object; until: number }>()
  return {
    keep(tool, body) {
      for (const [token, { until }] of kept) if (until < Date.now()) kept.delete(token)
      const token = randomUUID()
      kept.set(token, { tool, body, until: Date.now() + keptMs })
      return { confirmation_token: token, expires_in_seconds: keptMs / 1000 }
    },
    async use(token, tool, body, send) {
      const shown = kept.get(token)
      if (!shown || shown.until < Date.now()) {
        throw new Failure('not_confirmed', 'this token is used, too old or none: start with dry_run: true')
      }
      if (shown.tool !== tool || !isDeepStrictEqual(shown.body, body)) {
        throw new Failure(
          'not_confirmed',
          'these are other arguments than those of the dry run: start with dry_run: true',
        )
      }
      // Taken before it is sent: two calls with one token are not both sent.
      kept.delete(token)
      try {
        return await send(token)
      } catch (error) {
        if (isPassing(error)) kept.set(token, shown)
        throw error
      }
    },
  }
}
