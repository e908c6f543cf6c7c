/** The 502 of a message that the channel rejected, that did not reach the channel, or whose outcome is unknown. */
import { ApiError } from '../../lib/errors.ts'
import { NullableText, OneOf, Type } from '../../lib/schema.ts'

const outcomes = ['rejected', 'unsent', 'unknown'] as const

export const PlatformErrorDetails = Type.Object(
  {
    outcome: OneOf(outcomes, {
      description:
        '`rejected`: the channel refused the message. `unsent`: nothing reached the channel; you may send the message again, under a new `Idempotency-Key`. `unknown`: the channel may have sent it; a later `message.status_updated` reports the outcome. Parley does not send it again.',
    }),
    message_id: NullableText({
      format: 'uuid',
      description: 'Null if the request failed before a message was stored.',
    }),
    channel_code: NullableText({ description: "The channel's error code, or null if it sent none." }),
  },
  { title: 'PlatformErrorDetails', description: 'Present with the code `platform_error`.' },
)

/** `message` starts with the channel's code if there is one. `id`: the stored message; null if there is none. */
export function platformError(
  message: string,
  { id, outcome }: { id: string | null; outcome: (typeof outcomes)[number] },
) {
  const channel_code = /^(\d{1,9})(?:: |;|$)/.exec(message)?.[1] ?? null
  return new ApiError('platform_error', message, {}, { outcome, message_id: id, channel_code }, id !== null)
}
