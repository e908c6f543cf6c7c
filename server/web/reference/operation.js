// @ts-check
/**
 * One operation: on the left what it is, takes and answers; on the right the
 * request as code, the answer by example, and the form that sends it.
 */
import {
  anchor,
  codeCard,
  copyButton,
  disclosure,
  h,
  inline,
  kept,
  methodBadge,
  prose,
  statusPill,
  tabs,
} from './dom.js'
import { fieldRow, fieldTree } from './fields.js'
import { prettyJson, samples } from './samples.js'
import { tryForm } from './try.js'

/** @typedef {import('./schema.js').Schema} Schema */
/** @typedef {import('./schema.js').Schemas} Schemas */
/** @typedef {{ name: string, in: 'path' | 'query' | 'header', required: boolean, description?: string, schema: Schema }} Parameter */
/** @typedef {{ id: string, method: string, path: string, tag: string, scope: string | undefined, summary: string, description?: string, parameters: Parameter[], body?: Schema, example?: unknown, responses: Record<string, any>, streams: boolean }} Operation */
/** @typedef {{ values: Record<string, string>, body: string | undefined }} Draft */
/** @typedef {{ schemas: Schemas, baseUrl: string, tryUrl: string }} Api */

/** An answer that stays open and tells one event after the other. */
const streamType = 'text/event-stream'

/**
 * Every operation of the document, in its order.
 * @param {Record<string, any>} document
 * @returns {Operation[]}
 */
export function operationsOf(document) {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(/** @type {Record<string, any>} */ (methods)).map(([method, operation]) => {
      const content = operation.requestBody?.content?.['application/json']
      return {
        id: `operation-${operation.operationId}`,
        method: method.toUpperCase(),
        path,
        tag: operation.tags?.[0] ?? 'Other',
        scope: Object.values(operation.security?.[0] ?? {}).flat()[0],
        summary: operation.summary ?? `${method.toUpperCase()} ${path}`,
        description: operation.description,
        parameters: operation.parameters ?? [],
        body: content?.schema,
        example: content?.example,
        responses: operation.responses ?? {},
        streams: operation.responses?.[200]?.content?.[streamType] !== undefined,
      }
    }),
  )
}

/** @param {Operation} operation @param {Api} api */
export function operationSection(operation, api) {
  const { id, summary, description } = operation
  const titleId = `${id}-title`
  return h(
    'section',
    { class: 'operation', id, 'aria-labelledby': titleId },
    h(
      'div',
      { class: 'text' },
      h('h3', { id: titleId }, summary, anchor(id, summary)),
      endpoint(operation, api),
      h('div', { class: 'prose' }, prose(description)),
      parameters(operation, api),
      requestBody(operation, api),
      responses(operation, api),
    ),
    h('div', { class: 'side' }, h('div', { class: 'sticky' }, requestAndTry(operation, api), answers(operation))),
  )
}

/** @param {Operation} operation @param {Api} api */
function endpoint({ method, path, scope }, { baseUrl }) {
  const steps = path.split(/(\{\w+\})/).map((step) => (step.startsWith('{') ? h('em', {}, step) : step))
  return h(
    'div',
    { class: 'endpoint' },
    h(
      'div',
      { class: 'endpoint-path' },
      methodBadge(method),
      h('code', {}, steps),
      copyButton(() => baseUrl + path, 'the address'),
    ),
    h(
      'a',
      { class: 'scope', href: '#authentication' },
      scope ? [h('span', {}, 'Scope '), h('code', {}, scope)] : h('span', {}, 'Any key, no scope needed'),
    ),
  )
}

const places = { path: 'Path parameters', query: 'Query parameters', header: 'Headers' }

/** @param {Operation} operation @param {Api} api */
function parameters({ parameters }, { schemas }) {
  return Object.entries(places).map(([place, title]) => {
    const here = parameters.filter((parameter) => parameter.in === place)
    if (here.length === 0) return null
    const rows = here.map(({ name, schema, required, description }) => {
      // What a query carries is text, whatever else the schema leaves open.
      const typed = Object.keys(schema).length > 0 ? schema : { type: 'string' }
      return fieldRow(schemas, { name, schema: { ...typed, description }, required }, 'sent')
    })
    return h('div', { class: 'part' }, h('h4', {}, title), h('ul', { class: 'fields' }, rows))
  })
}

/** @param {Operation} operation @param {Api} api */
function requestBody({ body }, { schemas }) {
  if (!body) return null
  return h('div', { class: 'part' }, h('h4', {}, 'Request body'), fieldTree(schemas, body, 'sent'))
}

/** @param {Operation} operation @param {Api} api */
function responses({ responses }, { schemas }) {
  const rows = Object.entries(responses).map(([status, { description, headers, content }], index) => {
    const schema = (content?.['application/json'] ?? content?.[streamType])?.schema
    return disclosure({
      class: 'response',
      open: index === 0,
      head: [statusPill(Number(status)), h('span', { class: 'response-words' }, inline(description ?? ''))],
      body: () => [schema && fieldTree(schemas, schema, 'answered'), headers && headerList(schemas, headers)],
    })
  })
  return h('div', { class: 'part' }, h('h4', {}, 'Responses'), rows)
}

/** @param {Schemas} schemas @param {Record<string, any>} headers */
function headerList(schemas, headers) {
  return disclosure({
    class: 'inside',
    head: [`${Object.keys(headers).length} headers`],
    body: () => [
      h(
        'ul',
        { class: 'fields' },
        Object.entries(headers).map(([name, { schema, description }]) =>
          fieldRow(schemas, { name, schema: { ...schema, description }, required: true }, 'answered'),
        ),
      ),
    ],
  })
}

const chosenLanguage = kept('localStorage', 'parley.docs.language')
/** Every sample shows the language the reader chose at any of them. @type {Set<(language: string) => void>} */
const languageListeners = new Set()

/** @param {Operation} operation @param {Api} api */
function requestAndTry(operation, api) {
  const { schemas, baseUrl } = api
  /** @type {Draft} */
  const draft = {
    values: {},
    body: operation.body && prettyJson(operation.example),
  }
  let language = samples[chosenLanguage.read() ?? ''] ? String(chosenLanguage.read()) : 'curl'
  const bar = tabs({
    label: 'Language',
    names: Object.keys(samples),
    panel: () => card.id,
    select: (name) => {
      chosenLanguage.write(name)
      for (const listen of languageListeners) listen(name)
    },
  })
  const card = codeCard({ head: bar.element, what: 'the request' })
  const show = () => {
    const sample = samples[language]
    bar.mark(language)
    if (sample) card.show(sample.write(toRequest(operation, draft, baseUrl)), sample.language)
  }
  languageListeners.add((name) => {
    language = name
    show()
  })
  show()
  const form = disclosure({
    class: 'try',
    head: ['Try it'],
    body: () => [
      tryForm({ operation, schemas, draft, changed: show, toRequest: () => toRequest(operation, draft, api.tryUrl) }),
    ],
  })
  return h('div', { class: 'request' }, h('h4', { class: 'offscreen' }, 'Request'), card.element, form)
}

/**
 * The request as the reader filled it in. A path parameter still missing stays as `{id}`.
 * @param {Operation} operation
 * @param {Draft} draft
 * @param {string} baseUrl
 * @returns {import('./samples.js').Request}
 */
function toRequest({ method, path, parameters, streams }, { values, body }, baseUrl) {
  const filled = path.replace(/\{(\w+)\}/g, (whole, name) => (values[name] ? encodeURIComponent(values[name]) : whole))
  const query = new URLSearchParams()
  /** @type {[string, string][]} */
  const headers = []
  for (const { name, in: place } of parameters) {
    const value = values[name]
    if (!value) continue
    if (place === 'query') query.set(name, value)
    if (place === 'header') headers.push([name, value])
  }
  if (body !== undefined) headers.push(['Content-Type', 'application/json'])
  const search = query.toString()
  return { method, url: `${baseUrl}${filled}${search && `?${search}`}`, headers, body, streams }
}

/** @param {Operation} operation */
function answers({ responses, streams }) {
  const statuses = Object.keys(responses)
  const [first] = statuses
  if (!first) return null
  const bar = tabs({ label: 'Status', names: statuses, panel: () => card.id, select: (status) => show(status) })
  const card = codeCard({ head: bar.element, what: 'the example answer' })
  /** @param {string} status */
  const show = (status) => {
    const { content } = responses[status] ?? {}
    const { example } = content?.['application/json'] ?? content?.[streamType] ?? {}
    bar.mark(status)
    if (streams && status === '200') card.show(toEventText(example), 'text')
    else card.show(prettyJson(example), 'json')
  }
  show(first)
  return h('div', { class: 'answers' }, h('h4', {}, 'Example answer'), card.element)
}

/** One event as it comes over the line. @param {any} example */
function toEventText(example) {
  return [`id: ${example?.id}`, `event: ${example?.event}`, `data: ${JSON.stringify(example)}`].join('\n')
}
