/** The rules of a message in a definition: those of a send request, and no field that its type ignores. Pure. */
import { ApiError, badRequest } from '../lib/errors.ts'
import { readRequestedContent } from '../messages/sending/requested-content.ts'
import type { Message } from './definition.ts'
import { readBySchema } from './read.ts'
import { MessageSchema } from './schema.ts'

/** The canonical form of a message that has the shape of its schema. Throws 400 with the path below the message. */
export function readMessage(message: Message): Message {
  const requested = readRequestedContent(toRequest(message))
  if (message.type === 'interactive' && requested.type === 'interactive') {
    return { type: message.type, interactive: requested.interactive }
  }
  if (!('media_url' in message && 'media_url' in requested)) return message
  if (message.filename !== undefined && message.type !== 'document') {
    throw badRequest('filename: only a document has a filename')
  }
  return {
    ...{ type: message.type, media_url: requested.media_url },
    ...(requested.text === null ? {} : { text: requested.text }),
    ...(requested.filename === null ? {} : { filename: requested.filename }),
  }
}

/** Why a message whose texts were filled cannot be sent, or undefined. */
export function findMessageFault(message: Message): string | undefined {
  try {
    readMessage(readBySchema(MessageSchema, message, { root: 'message' }) as Message)
    return undefined
  } catch (error) {
    if (error instanceof ApiError) return error.message
    throw error
  }
}

/** Runs a check whose errors start with a path, and adds the path of the checked value. */
export function below<Result>(path: string, check: () => Result): Result {
  try {
    return check()
  } catch (error) {
    throw error instanceof ApiError ? badRequest(`${path}.${error.message}`) : error
  }
}

type Request = Parameters<typeof readRequestedContent>[0]

/** Lists of a request are not read-only. */
const toRequest = (message: Message): Request => message as Request
