/** Sends a built file in the encoding that the client accepts. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { BuiltFile } from '../../common/pages.ts'
import { chooseEncoding } from '../lib/http/encoding.ts'

export function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: BuiltFile,
  headers: Record<string, string>,
): FastifyReply {
  const encoding = (file.isCompressible && chooseEncoding(request.headers['accept-encoding'])) || 'identity'
  reply.headers({ ...headers, vary: 'accept-encoding' })
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  return reply.type(file.type).send(file.bodies[encoding])
}
