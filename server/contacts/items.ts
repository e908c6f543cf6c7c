/** Items of a bulk request, validated one by one: an invalid item is refused by itself, with the message of a single request. */
import type { FastifyError, FastifyRequest } from 'fastify'
import { badRequest } from '../lib/errors.ts'
import { dropNulls, requireStorable } from '../lib/http/json.ts'
import { describeRequestError } from '../lib/http/request-errors.ts'
import type { Static, TSchema } from '../lib/schema.ts'

/** Reads an item that must match a schema. Throws 400 as a request with this body does. */
export function readItem<Schema extends TSchema>(
  request: FastifyRequest,
  schema: Schema,
  item: unknown,
): Static<Schema> {
  const validate = request.getValidationFunction(schema) ?? request.compileValidationSchema(schema)
  dropNulls(item, schema)
  if (!validate(item)) {
    throw badRequest(describeRequestError({ validation: validate.errors ?? [] } as unknown as FastifyError))
  }
  requireStorable(item, schema)
  return item as Static<Schema>
}
