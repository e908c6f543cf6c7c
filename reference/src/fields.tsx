/** A schema as a tree of fields: name, type, limits, description, and nested fields behind a button. */
import { Disclosure, Inline, Prose } from './code.tsx'
import { type Field, limitsOf, listFields, resolve, type Schema, type Schemas, typeOf } from './schema.ts'

/** Requests mark required fields. Responses mark fields that may be absent. */
type Direction = 'request' | 'response'
type TreeProps = { schemas: Schemas; schema: Schema; direction: Direction; depth?: number }

export const FieldTree = ({ schemas, schema, direction, depth = 0 }: TreeProps) => (
  <div>
    {listFields(schemas, schema).map(({ title, fields }) => (
      <div key={`${title} ${fields[0]?.name}`}>
        {title && (
          <p className="option">
            As <code>{title}</code>
          </p>
        )}
        <ul className="fields">
          {fields.map((field) => (
            <FieldRow key={field.name} schemas={schemas} field={field} direction={direction} depth={depth} />
          ))}
        </ul>
      </div>
    ))}
  </div>
)

type RowProps = { schemas: Schemas; field: Field; direction: Direction; depth?: number }

export function FieldRow({ schemas, field: { name, schema, required }, direction, depth = 0 }: RowProps) {
  const shape = resolve(schemas, schema)
  const item = resolve(schemas, shape.items)
  const values = shape.enum ?? item.enum
  const format = shape.format ?? item.format
  const count = listFields(schemas, schema).reduce((sum, { fields }) => sum + fields.length, 0)
  const nested = `${count} ${count === 1 ? 'field' : 'fields'}`
  return (
    <li className="schema-field">
      <div className="field-head">
        <code className="field-name">{name}</code>
        <span className="field-type">{typeOf(schemas, schema)}</span>
        {format && <span className="field-type">{format}</span>}
        {limitsOf(shape).map((limit) => (
          <span key={limit} className="field-limits">
            <Inline text={limit} />
          </span>
        ))}
        {required && direction === 'request' && <span className="required">required</span>}
        {!required && direction === 'response' && <span className="field-limits">may be absent</span>}
        {shape.deprecated && <span className="required">deprecated</span>}
      </div>
      <Prose text={shape.description} />
      {values && (
        <p className="values">
          One of{' '}
          {values.map((value) => (
            <code key={String(value)}>{String(value)}</code>
          ))}
        </p>
      )}
      {count > 0 && (
        <Disclosure
          className="inside"
          label={`${nested} of ${name}`}
          // The response envelope starts open.
          isInitiallyOpen={depth === 0 && /^(data|meta|error)$/.test(name)}
          head={nested}
        >
          {() => <FieldTree schemas={schemas} schema={schema} direction={direction} depth={depth + 1} />}
        </Disclosure>
      )}
    </li>
  )
}
