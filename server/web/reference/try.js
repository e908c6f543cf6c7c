// @ts-check
/**
 * Try it: the form that sends a request from this page to the service that
 * served it, and shows what came back.
 *
 * The key is kept for this tab only (sessionStorage), shared by all forms, and
 * sent nowhere but to the page's own origin. Cookies are never sent along.
 */
import { codeCard, h, inline, kept, newId, statusPill } from './dom.js'
import { errorMeanings } from './errors.js'
import { prettyJson } from './samples.js'
import { resolve } from './schema.js'

/** @typedef {import('./operation.js').Operation} Operation */
/** @typedef {import('./operation.js').Parameter} Parameter */
/** @typedef {{ operation: Operation, schemas: import('./schema.js').Schemas, draft: import('./operation.js').Draft, changed: () => void, toRequest: () => import('./samples.js').Request }} Trying */

const keptKey = kept('sessionStorage', 'parley.docs.key')
const timeoutMs = 30_000
/** A stream has no end to wait for: so much of it is shown. */
const streamMs = 5_000
const shownHeaders = [
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'Retry-After',
  'Idempotent-Replayed',
]

/** @param {Trying} trying */
export function tryForm({ operation, schemas, draft, changed, toRequest }) {
  const key = keyField()
  const answer = h('div', { class: 'answer' })
  const words = h('div', { class: 'answer-words', role: 'status' })
  const send = h('button', { type: 'submit', class: 'send' }, 'Send request')
  const form = h(
    'form',
    { class: 'try-form', novalidate: true, autocomplete: 'off' },
    key.element,
    operation.parameters.map((parameter) => parameterField(schemas, parameter, draft, changed)),
    operation.body && bodyField(operation.example, draft, changed),
    send,
  )
  let busy = false
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const fault = firstFault(form)
    if (fault) {
      words.replaceChildren(h('p', { class: 'words' }, fault))
      answer.replaceChildren()
    }
    if (fault || busy) return
    busy = true
    send.textContent = 'Sending…'
    const result = await call(toRequest(), key.value())
    busy = false
    send.textContent = 'Send request'
    words.replaceChildren(...describe(result))
    answer.replaceChildren(...('status' in result ? show(result) : []))
  })
  return h('div', {}, form, words, answer)
}

function keyField() {
  const id = newId()
  const input = h('input', {
    id,
    type: 'password',
    class: 'key',
    placeholder: 'svc_live_…',
    autocomplete: 'off',
    spellcheck: 'false',
    'data-needed': 'Paste an API key first.',
  })
  input.value = keptKey.read() ?? ''
  input.addEventListener('input', () => {
    keptKey.write(input.value)
    for (const other of document.querySelectorAll('input.key')) {
      if (other instanceof HTMLInputElement) other.value = input.value
    }
  })
  const reveal = h('button', { type: 'button', class: 'small', 'aria-pressed': 'false' }, 'Show')
  reveal.addEventListener('click', () => {
    const hidden = input.type === 'password'
    input.type = hidden ? 'text' : 'password'
    reveal.textContent = hidden ? 'Hide' : 'Show'
    reveal.setAttribute('aria-pressed', String(hidden))
  })
  return {
    element: labelled(id, ['API key', h('span', { class: 'hint' }, 'kept in this tab only')], input, reveal),
    value: () => input.value.trim(),
  }
}

/**
 * @param {import('./schema.js').Schemas} schemas
 * @param {Parameter} parameter
 * @param {import('./operation.js').Draft} draft
 * @param {() => void} changed
 */
function parameterField(schemas, { name, in: place, required, schema }, draft, changed) {
  const id = newId()
  const { enum: values, type } = resolve(schemas, schema)
  const choices = values ?? (type === 'boolean' ? [true, false] : undefined)
  const needed = required && `Fill in ${name} first.`
  const field = choices
    ? h(
        'select',
        { id, 'data-needed': needed },
        ['', ...choices].map((choice) =>
          h('option', { value: String(choice) }, choice === '' ? 'any' : String(choice)),
        ),
      )
    : h('input', {
        id,
        type: 'text',
        autocomplete: 'off',
        spellcheck: 'false',
        placeholder: place === 'path' ? '01980a4e-7c1b-7f3a-9d52-3b6f0e8c4a17' : '',
        'data-needed': needed,
      })
  const set = () => {
    draft.values[name] = field.value.trim()
    changed()
  }
  field.addEventListener('input', set)
  const fresh =
    name === 'Idempotency-Key' &&
    h(
      'button',
      {
        type: 'button',
        class: 'small',
        click: () => {
          field.value = randomKey()
          set()
        },
      },
      'New key',
    )
  return labelled(id, [h('code', {}, name), h('span', { class: 'hint' }, required ? 'required' : place)], field, fresh)
}

/** `crypto.randomUUID` is missing on plain http, where the service may well be tried out. */
function randomKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/**
 * @param {unknown} example
 * @param {import('./operation.js').Draft} draft
 * @param {() => void} changed
 */
function bodyField(example, draft, changed) {
  const id = newId()
  const fault = h('p', { class: 'fault', id: `${id}-fault` })
  const area = h('textarea', { id, spellcheck: 'false', autocapitalize: 'off', 'aria-describedby': fault.id })
  const set = () => {
    draft.body = area.value
    area.rows = Math.min(18, Math.max(4, area.value.split('\n').length))
    fault.textContent = jsonFault(area.value)
    area.setAttribute('aria-invalid', String(fault.textContent !== ''))
    changed()
  }
  const reset = () => {
    area.value = prettyJson(example)
    set()
  }
  area.addEventListener('input', set)
  reset()
  const again = h('button', { type: 'button', class: 'small', click: reset }, 'Reset')
  return h(
    'div',
    { class: 'row' },
    h('div', { class: 'label-line' }, h('label', { for: id }, 'Body', h('span', { class: 'hint' }, 'JSON')), again),
    area,
    fault,
  )
}

/** @param {string} text */
function jsonFault(text) {
  try {
    JSON.parse(text)
    return ''
  } catch (error) {
    return `Not JSON yet: ${error instanceof Error ? error.message : error}`
  }
}

/**
 * @param {string} id
 * @param {import('./dom.js').Child[]} label
 * @param {HTMLElement} field
 * @param {HTMLElement | false} [button]
 */
function labelled(id, label, field, button) {
  return h(
    'div',
    { class: 'row' },
    h('label', { for: id }, ...label),
    h('div', { class: button ? 'with-button' : 'alone' }, field, button),
  )
}

/** Mark every empty field that is needed, go to the first of them and say so. @param {HTMLFormElement} form */
function firstFault(form) {
  const needed = [...form.querySelectorAll('[data-needed]')].filter(
    (field) => field instanceof HTMLInputElement || field instanceof HTMLSelectElement,
  )
  for (const field of needed) field.setAttribute('aria-invalid', String(field.value.trim() === ''))
  const first = needed.find((field) => field.value.trim() === '')
  first?.focus()
  return first?.dataset.needed
}

/** @typedef {{ status: number, ms: number, bytes: number, headers: Headers, text: string }} Answer */
/** @typedef {Answer | { failed: string }} Result */

/**
 * @param {import('./samples.js').Request} request
 * @param {string} key
 * @returns {Promise<Result>}
 */
async function call({ method, url, headers, body }, key) {
  const started = performance.now()
  try {
    const response = await fetch(url, {
      method,
      headers: [['Authorization', `Bearer ${key}`], ...headers],
      ...(body === undefined ? {} : { body }),
      credentials: 'omit',
      cache: 'no-store',
      signal: AbortSignal.timeout(timeoutMs),
    })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
    const text = isStream ? await readStream(response) : await response.text()
    const ms = Math.round(performance.now() - started)
    return { status: response.status, ms, bytes: new Blob([text]).size, headers: response.headers, text }
  } catch (error) {
    if (error instanceof DOMException && error.name === 'TimeoutError') {
      return { failed: `No answer within ${timeoutMs / 1000} seconds.` }
    }
    // Letters outside Latin-1 cannot be in a header, and the browser refuses before it sends.
    const typed = [key, ...headers.map(([, value]) => value)].some((value) => /[^\x20-\xff]/.test(value))
    return {
      failed: typed
        ? 'The key or a header has a character that cannot be sent.'
        : 'No answer came. Is the service still running?',
    }
  }
}

/** What a stream says in its first seconds. @param {Response} response */
async function readStream(response) {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  const over = setTimeout(() => reader?.cancel(), streamMs)
  let text = ''
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) text += part.value
  clearTimeout(over)
  return text
}

/** What a screen reader hears: the outcome, and for a failure its meaning. @param {Result} result */
function describe(result) {
  if ('failed' in result) return [h('p', { class: 'words' }, result.failed)]
  const { status, ms, bytes } = result
  const line = h(
    'p',
    { class: 'outcome' },
    statusPill(status),
    ' ',
    h('span', {}, `${ms} ms`),
    ' ',
    h('span', {}, `${bytes.toLocaleString('en-US')} bytes`),
  )
  if (status < 400) return [line]
  const error = parsed(result.text)?.error
  const { meaning } = errorMeanings[error?.code] ?? {}
  return [
    line,
    h('p', { class: 'words' }, h('strong', {}, error?.message ?? 'The request failed.')),
    h('p', { class: 'words' }, inline(meaning ?? '')),
  ]
}

/** @param {Answer} answer */
function show({ headers, text }) {
  const rows = shownHeaders.flatMap((name) => {
    const value = headers.get(name)
    return value === null ? [] : [h('dt', {}, name), h('dd', {}, value)]
  })
  const value = parsed(text)
  const card = codeCard({ head: h('span', { class: 'code-title' }, 'Answer'), what: 'the answer' })
  card.show(value === undefined ? text : prettyJson(value), value === undefined ? 'text' : 'json')
  return [h('dl', { class: 'headers' }, rows), card.element]
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
