/**
 * Full-text search over the reference: guides, operations, events, error codes and fields.
 *
 * All words of a query must occur in an entry, in its head (title, path, name) or in its text. Entries with all words in the head come
 * first, then those with the most words there, in the order of the page.
 */
import { errorMeanings } from './errors.ts'
import { guides, outcomes } from './guide-texts.ts'
import { type ApiDocument, contentOf, type Operation, type WebhookEvent } from './openapi.ts'
import { listFields, resolve, type Schema, type Schemas, typeOf } from './schema.ts'

export type Entry = {
  /** The anchor of its section. */
  id: string
  kind: 'Guide' | 'Operation' | 'Event' | 'Error' | 'Field'
  title: string
  method?: string
  /** Where a field is. */
  context?: string
  /** Searched like the title, but not shown. */
  head: string
  text: string
}

/** The text around the first word that is not in the head, in parts: those at odd positions match. */
export type Result = { entry: Entry; snippet: string[] }

export const maxResults = 60
const snippetLength = 120
/** Deeper fields are shown by their parents. Schemas can be recursive. */
const maxDepth = 6

export function createIndex(
  document: ApiDocument | undefined,
  operations: readonly Operation[],
  events: readonly WebhookEvent[],
): Entry[] {
  const schemas = document?.components?.schemas ?? {}
  return [
    ...guides.map(({ id, title, text, samples, after }): Entry => {
      const codes = samples.flatMap((sample) => ('code' in sample ? [sample.code] : Object.values(sample.codes)))
      const own = text || (document?.info.description ?? '')
      const table = after === 'outcomes' ? outcomes.flat() : []
      return { id, kind: 'Guide', title, head: title, text: plain([own, ...table, ...codes].join(' ')) }
    }),
    ...operations.map(({ id, tag, method, path, summary, description, scope, parameters }): Entry => {
      const texts = [description, scope && `Scope ${scope}`, ...parameters.map(describeParameter)]
      const head = `${tag} ${method} ${path} ${summary} ${id.replace('operation-', '')}`
      return { id, kind: 'Operation', title: summary, method, head, text: plain(texts.filter(Boolean).join(' ')) }
    }),
    ...events.map(
      ({ id, name, description = '' }): Entry => ({
        ...{ id, kind: 'Event', title: name, head: `Event ${name}`, text: plain(description) },
      }),
    ),
    ...Object.entries(errorMeanings).map(
      ([code, { status, meaning }]): Entry => ({
        ...{ id: `error-${code}`, kind: 'Error', title: code, head: `${code} ${status} error`, text: plain(meaning) },
      }),
    ),
    ...listFieldEntries(schemas, operations, events),
  ]
}

const describeParameter = ({ name, description = '' }: { name: string; description?: string }): string =>
  `${name} ${description}`.trim()

/** The fields of all requests, responses and events. Those of a shared schema are listed once, where it occurs first. */
function listFieldEntries(
  schemas: Schemas,
  operations: readonly Operation[],
  events: readonly WebhookEvent[],
): Entry[] {
  const entries: Entry[] = []
  const seen = new Set<string>()
  const listed = new Set<string>()
  const walk = (schema: Schema, owner: { id: string; label: string }, path: string, depth: number): void => {
    const shape = resolve(schemas, schema)
    const component = shape.name ?? resolve(schemas, shape.items).name
    if (depth > maxDepth || (component && seen.has(component))) return
    if (component) seen.add(component)
    for (const { fields } of listFields(schemas, schema)) {
      for (const { name, schema: field } of fields) {
        const { description = '', enum: values = [] } = resolve(schemas, field)
        const title = [path, name].filter(Boolean).join('.')
        const context = [component, owner.label].filter(Boolean).join(' · ')
        const texts = [typeOf(schemas, field), description, values.join(' ')]
        // The envelope of responses is the same everywhere.
        const isEnvelope = depth === 0 && /^(data|meta|error)$/.test(name)
        const key = `${owner.id} ${title}`
        if (!isEnvelope && !listed.has(key)) {
          listed.add(key)
          const text = plain(texts.filter(Boolean).join('. '))
          entries.push({ id: owner.id, kind: 'Field', title, context, head: `${title} ${component ?? ''}`, text })
        }
        walk(field, owner, isEnvelope ? '' : title, depth + 1)
      }
    }
  }
  for (const { id, summary, body, responses } of operations) {
    const owner = { id, label: summary }
    if (body) walk(body, owner, '', 1)
    for (const [status, { content }] of Object.entries(responses)) {
      const schema = contentOf(content)?.schema
      if (schema && Number(status) < 400) walk(schema, owner, '', 0)
    }
  }
  for (const { id, name, body } of events) if (body) walk(body, { id, label: name }, '', 1)
  return entries
}

/** Without the marks of our texts: code, bold, links. */
const plain = (text: string): string =>
  text
    .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .replaceAll(/`|\*\*/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()

/** The matching entries, best first. At most `maxResults` are returned; `count` is the number of all. */
export function search(index: readonly Entry[], query: string): { results: Result[]; count: number } {
  const words = [...new Set(query.toLowerCase().split(/\s+/).filter(Boolean))]
  if (words.length === 0) return { results: [], count: 0 }
  const found = index.flatMap((entry) => {
    const head = entry.head.toLowerCase()
    const text = entry.text.toLowerCase()
    const inHead = words.filter((word) => head.includes(word)).length
    const isMatch = words.every((word) => head.includes(word) || text.includes(word))
    return isMatch ? [{ entry, inHead, isWhole: entry.title.toLowerCase() === words.join(' ') }] : []
  })
  // The sort is stable, so equal entries stay in the order of the page.
  found.sort((one, other) => Number(other.isWhole) - Number(one.isWhole) || other.inHead - one.inHead)
  const results = found.slice(0, maxResults).map(({ entry }) => ({ entry, snippet: snippetOf(entry.text, words) }))
  return { results, count: found.length }
}

function snippetOf(text: string, words: readonly string[]): string[] {
  const lower = text.toLowerCase()
  const positions = words.map((word) => lower.indexOf(word)).filter((position) => position !== -1)
  const first = positions.length > 0 ? Math.min(...positions) : 0
  const from = first < 40 ? 0 : text.lastIndexOf(' ', first - 30) + 1
  const cut = text.slice(from, from + snippetLength)
  const shown = `${from > 0 ? '…' : ''}${cut}${from + snippetLength < text.length ? '…' : ''}`
  const pattern = words.map((word) => word.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')
  return shown.split(new RegExp(`(${pattern})`, 'gi'))
}
