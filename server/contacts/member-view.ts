/** The contact as members see it: the public one, with attributes and the opt-out. */
import { NullableDateTime, Type } from '../lib/schema.ts'
import type { Attributes } from './attributes.ts'
import { deciders } from './opt-out.ts'
import { ContactSchema } from './routes.ts'

export const ContactView = Type.Object({
  ...ContactSchema.properties,
  attributes: Type.Unsafe<Attributes>({ type: 'object', additionalProperties: true }),
  opted_out_at: NullableDateTime,
  opted_out_by: Type.Unsafe<(typeof deciders)[number] | null>({ type: ['string', 'null'], enum: [...deciders, null] }),
})
