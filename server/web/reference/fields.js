// @ts-check
/**
 * A schema as a tree of fields: name, type, limits, meaning, and what is
 * inside behind a button.
 */
import { disclosure, h, inline, prose } from './dom.js'
import { insideOf, limitsOf, resolve, typeOf } from './schema.js'

/** @typedef {import('./schema.js').Schema} Schema */
/** @typedef {import('./schema.js').Schemas} Schemas */
/** Who writes the value: what is sent may be required, what is answered may be absent. @typedef {'sent' | 'answered'} Side */

/**
 * @param {Schemas} schemas
 * @param {Schema} schema
 * @param {Side} side
 * @returns {HTMLElement}
 */
export function fieldTree(schemas, schema, side, depth = 0) {
  return h(
    'div',
    {},
    insideOf(schemas, schema).flatMap(({ title, fields }) => [
      title && h('p', { class: 'option' }, 'As ', h('code', {}, title)),
      h(
        'ul',
        { class: 'fields' },
        fields.map((field) => fieldRow(schemas, field, side, depth)),
      ),
    ]),
  )
}

/**
 * @param {Schemas} schemas
 * @param {import('./schema.js').Field} field
 * @param {Side} side
 * @returns {HTMLElement}
 */
export function fieldRow(schemas, { name, schema, required }, side, depth = 0) {
  const shape = resolve(schemas, schema)
  const item = shape.items ? resolve(schemas, shape.items) : {}
  const values = shape.enum ?? item.enum
  const format = shape.format ?? item.format
  const count = insideOf(schemas, schema).reduce((sum, { fields }) => sum + fields.length, 0)
  const fields = `${count} ${count === 1 ? 'field' : 'fields'}`
  return h(
    'li',
    { class: 'field' },
    h(
      'div',
      { class: 'field-head' },
      h('code', { class: 'field-name' }, name),
      h('span', { class: 'field-type' }, typeOf(schemas, schema)),
      format && h('span', { class: 'field-type' }, format),
      limitsOf(shape).map((limit) => h('span', { class: 'field-limits' }, inline(limit))),
      required && side === 'sent' && h('span', { class: 'required' }, 'required'),
      !required && side === 'answered' && h('span', { class: 'field-limits' }, 'may be absent'),
      shape.deprecated && h('span', { class: 'required' }, 'deprecated'),
    ),
    prose(shape.description),
    values && oneOf(values),
    count > 0 &&
      disclosure({
        class: 'inside',
        label: `${fields} of ${name}`,
        // The envelope is open from the start.
        open: depth === 0 && /^(data|meta|error)$/.test(name),
        head: [fields],
        body: () => [fieldTree(schemas, schema, side, depth + 1)],
      }),
  )
}

/** @param {unknown[]} values */
function oneOf(values) {
  return h(
    'p',
    { class: 'values' },
    'One of ',
    values.flatMap((value) => [h('code', {}, String(value)), ' ']),
  )
}
