/** The schemas of a filter, for the routes that take or return one. */
import { inDocument, OneOf, type TSchema, Type } from '../lib/schema.ts'
import {
  type Filter,
  type FilterFields,
  type FilterInput,
  groupField,
  isPlaceholder,
  matchModes,
  maxRules,
  maxTotalRules,
  maxValueLength,
  patternOf,
  valueKinds,
} from './filter.ts'

/** The schemas of a filter over these fields, as callers send it and as it is stored. */
export function createFilterSchemas(fields: FilterFields) {
  const known = Object.entries(fields).map(([field, ops]) => `\`${field}\` ${Object.keys(ops).join(', ')}`)
  const match = OneOf(matchModes)
  const rule = Type.Object(
    {
      field: Type.String({
        maxLength: 80,
        description: `Fields and their ops: ${known.join('; ')}.`,
        ...inDocument({
          anyOf: [
            { type: 'string', enum: Object.keys(fields).filter((field) => !isPlaceholder(field)) },
            ...Object.keys(fields)
              .filter(isPlaceholder)
              .map((field) => ({ pattern: patternOf(field) })),
          ],
        }),
      }),
      op: Type.String({
        maxLength: 80,
        description: 'One of the ops of the field.',
        ...inDocument({ enum: [...new Set(Object.values(fields).flatMap((ops) => Object.keys(ops)))] }),
      }),
      value: Type.Optional(
        Type.String({
          description:
            'Required except for `is_set` and `is_not_set`. Text is compared without regard to case. A tag is its id or name; a time is a date-time, or an age such as `30d` or `12h`.',
          ...inDocument({ maxLength: maxValueLength }),
        }),
      ),
    },
    { title: 'FilterRule' },
  )
  const rulesOf = <Schema extends TSchema>(item: Schema) => Type.Array(item, { minItems: 1, maxItems: maxRules })
  const ofGroup = { field: OneOf([groupField]), op: OneOf(matchModes, { description: 'The same as `match`.' }) }
  const group = Type.Object(
    {
      match: Type.Optional(match),
      field: Type.Optional(ofGroup.field),
      op: Type.Optional(ofGroup.op),
      value: Type.Optional(Type.String({ description: 'Ignored.' })),
      rules: rulesOf(rule),
    },
    {
      title: 'FilterGroup',
      description:
        'A group of rules that counts as one rule of the filter. It has `match`, or the `field` with the text `group` and an `op`.',
    },
  )
  const storedGroup = Type.Object(
    { match, ...ofGroup, value: Type.String({ description: 'Empty.' }), rules: rulesOf(rule) },
    { title: 'StoredFilterGroup', description: 'A group of rules that counts as one rule of the filter.' },
  )
  // One object for rules and groups: the validator reports faults of the form that was sent, and the serializer need not choose.
  const { field, op, value } = rule.properties
  const item = <Value>(required: readonly string[], forms: readonly TSchema[]) =>
    Type.Unsafe<Value>({
      type: 'object',
      properties: { field, op, value, match, rules: rulesOf(rule) },
      required,
      ...inDocument({ anyOf: forms, type: undefined, properties: undefined, required: undefined }),
    })
  const sent = item<FilterInput['rules'][number]>([], [rule, group])
  const stored = item<Filter['rules'][number]>(['field', 'op', 'value'], [rule, storedGroup])
  return {
    Filter: Type.Object(
      { match, rules: rulesOf(sent) },
      { title: 'Filter', description: `At most ${maxTotalRules} rules in total, with those of groups.` },
    ),
    StoredFilter: Type.Unsafe<Filter | null>({
      ...Type.Object({ match, rules: rulesOf(stored) }),
      title: 'StoredFilter',
      type: ['object', 'null'],
      description: 'Null for a static segment.',
    }),
  }
}

/** What `describeFields` returns, for the rules on the pages. */
export const FieldsSchema = Type.Array(
  Type.Object({
    field: Type.String(),
    ops: Type.Array(
      Type.Object({
        op: Type.String(),
        value: Type.Unsafe<(typeof valueKinds)[number] | null>({
          type: ['string', 'null'],
          enum: [...valueKinds, null],
        }),
      }),
    ),
  }),
)
