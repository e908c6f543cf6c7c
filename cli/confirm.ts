/**
 * Confirmation tokens for dry runs of the MCP tools that send.
 *
 * A dry run stores the request and returns a token. The token sends exactly that request, once, within ten minutes; other
 * arguments are rejected. The token is also the `Idempotency-Key`, so a retry after a lost response sends no second message.
 */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { isRetryable } from './api.ts'
import { CommandError } from './target.ts'

export type Confirmations = {
  /** Stores a request and returns the token that sends it. */
  create(tool: string, body: object): { confirmation_token: string; expires_in_seconds: number }
  /** Sends the stored request if tool and body match it. A retryable error makes the token valid again. */
  use<Answer>(
    token: string,
    tool: string,
    body: object,
    send: (idempotencyKey: string) => Promise<Answer>,
  ): Promise<Answer>
}

const ttlMs = 10 * 60_000

export function createConfirmations(): Confirmations {
  const requests = new Map<string, { tool: string; body: object; expiresAt: number }>()
  return {
    create(tool, body) {
      for (const [token, { expiresAt }] of requests) if (expiresAt < Date.now()) requests.delete(token)
      const token = randomUUID()
      requests.set(token, { tool, body, expiresAt: Date.now() + ttlMs })
      return { confirmation_token: token, expires_in_seconds: ttlMs / 1000 }
    },
    async use(token, tool, body, send) {
      const request = requests.get(token)
      if (!request || request.expiresAt < Date.now()) {
        throw new CommandError(
          'not_confirmed',
          'The token is unknown, expired or already used. Start with dry_run: true.',
        )
      }
      if (request.tool !== tool || !isDeepStrictEqual(request.body, body)) {
        throw new CommandError(
          'not_confirmed',
          'The arguments differ from those of the dry run. Start with dry_run: true.',
        )
      }
      // Removed before sending, so that two concurrent calls with one token send once.
      requests.delete(token)
      try {
        return await send(token)
      } catch (error) {
        if (isRetryable(error)) requests.set(token, request)
        throw error
      }
    },
  }
}
