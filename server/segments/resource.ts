/** The segment: its fields, which are the columns of its row. */
import { resource } from '../lib/resource.ts'
import { Color, DateTime, NullableText, OneOf, type Static, Type, Uuid } from '../lib/schema.ts'
import type { Filter } from './filter.ts'

export const kinds = ['static', 'dynamic'] as const
export type Kind = (typeof kinds)[number]

export const segmentFields = {
  id: Uuid,
  name: Type.String(),
  description: NullableText(),
  color: Color,
  kind: OneOf(kinds),
  // The routes replace its schema, which depends on the fields that filters may use.
  filter: Type.Unsafe<Filter | null>({}),
  created_at: DateTime,
  updated_at: DateTime,
}
const SegmentSchema = Type.Object(segmentFields)
export type Segment = Static<typeof SegmentSchema>

/** The fields of segment `s`. */
export const { columns: segmentColumns } = resource('s', SegmentSchema)
