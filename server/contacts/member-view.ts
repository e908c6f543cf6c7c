/** The contact as members see it: the public one, with the time and the origin of the opt-out. */
import { NullableDateTime, Type } from '../lib/schema.ts'
import { deciders } from './opt-out.ts'
import { ContactSchema } from './schemas.ts'

export const ContactView = Type.Object({
  ...ContactSchema.properties,
  opted_out_at: NullableDateTime,
  opted_out_by: Type.Unsafe<(typeof deciders)[number] | null>({ type: ['string', 'null'], enum: [...deciders, null] }),
})
