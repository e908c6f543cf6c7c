// @ts-check
/**
 * The API reference: reads /openapi.json and completes the page with it.
 *
 * The guide stands in index.html and is readable before, or without, the
 * document. Requests go to this page's own origin only.
 */
import { anchor, codeCard, copyButton, h, inline, kept, methodBadge, prose, statusPill } from './dom.js'
import { errorMeanings } from './errors.js'
import { startNavigation } from './navigation.js'
import { operationSection, operationsOf } from './operation.js'
import { receiversCard } from './receivers.js'

/** @typedef {import('./operation.js').Operation} Operation */

startTheme()
const guideSamples = prepareGuides()
const navigation = startNavigation()
void load()

async function load() {
  const fault = place('#fault')
  const operations = place('#operations')
  const read = await readDocument()
  fault.replaceChildren()
  if (read.ok) draw(read.document, operations)
  else {
    fillGuides(`${location.origin}/v1`)
    operations.replaceChildren()
    fault.append(
      h(
        'div',
        { class: 'fault-box' },
        h('strong', {}, 'The operations could not be loaded'),
        h('p', {}, 'Reading ', h('code', {}, '/openapi.json'), ` failed: ${read.reason}.`),
        h('button', { type: 'button', class: 'send', click: load }, 'Try again'),
      ),
    )
  }
  navigation.draw()
  // The place named in the address exists only now.
  document.getElementById(location.hash.slice(1))?.scrollIntoView()
}

/** @returns {Promise<{ ok: true, document: Record<string, any> } | { ok: false, reason: string }>} */
async function readDocument() {
  try {
    const response = await fetch('/openapi.json')
    if (!response.ok) return { ok: false, reason: `it answered ${response.status}` }
    return { ok: true, document: await response.json() }
  } catch (error) {
    return { ok: false, reason: error instanceof SyntaxError ? 'it is not JSON' : 'the service does not answer' }
  }
}

/** @param {Record<string, any>} api @param {HTMLElement} target */
function draw(api, target) {
  const operations = operationsOf(api)
  const baseUrl = String(api.servers?.[0]?.url ?? `${location.origin}/v1`).replace(/\/$/, '')
  const schemas = api.components?.schemas ?? {}
  // The document may name a proxy's address; what is tried goes to where this page came from.
  const tryUrl = location.origin + new URL(baseUrl, location.href).pathname.replace(/\/$/, '')

  fill('title', [api.info.title])
  fill('description', prose(api.info.description))
  fill('version', [`, version ${api.info.version}`])
  fill('scopes', [scopeTable(operations)])
  fill('errors', [errorTable(schemas.Error?.properties?.error?.properties?.code?.enum ?? [])])
  fillGuides(baseUrl)

  const named = new Map(
    (api.tags ?? []).map((/** @type {{ name: string, description?: string }} */ tag) => [tag.name, tag.description]),
  )
  const used = new Set(operations.map(({ tag }) => tag))
  const tags = [...new Set([...named.keys(), ...used])].filter((tag) => used.has(tag))
  target.replaceChildren(
    ...tags.map((tag) => {
      const id = `tag-${tag.toLowerCase().replaceAll(/\W+/g, '-')}`
      const own = operations.filter((operation) => operation.tag === tag)
      return h(
        'section',
        { class: 'group', id, 'data-nav': tag },
        h('div', { class: 'group-head' }, h('h2', {}, tag, anchor(id, tag)), prose(named.get(tag)), overview(own)),
        own.map((operation) => operationSection(operation, { schemas, baseUrl, tryUrl })),
      )
    }),
  )
  keepSidesInView(target)
}

/** @param {Operation[]} operations */
function overview(operations) {
  return h(
    'ul',
    { class: 'overview' },
    operations.map(({ id, method, path }) =>
      h('li', {}, h('a', { class: 'overview-link', href: `#${id}` }, methodBadge(method), h('code', {}, path))),
    ),
  )
}

/** @param {Operation[]} operations */
function scopeTable(operations) {
  const scopes = [...new Set(operations.map(({ scope }) => scope))].filter((scope) => scope !== undefined)
  return table(
    ['Scope', 'Opens'],
    scopes.sort().map((scope) => [
      h('code', {}, scope),
      h(
        'ul',
        { class: 'opens' },
        operations
          .filter((operation) => operation.scope === scope)
          .map(({ id, method, path }) =>
            h('li', {}, h('a', { class: 'opens-link', href: `#${id}` }, h('code', {}, `${method} ${path}`))),
          ),
      ),
    ]),
  )
}

/** @param {string[]} codes */
function errorTable(codes) {
  return table(
    ['Status', 'Code and meaning'],
    codes.map((code) => {
      const { status, meaning = 'The message says more.' } = errorMeanings[code] ?? {}
      return [
        status ? statusPill(status) : '',
        h('div', {}, h('code', { class: 'name' }, code), h('p', {}, inline(meaning))),
      ]
    }),
  )
}

/** @param {string[]} heads @param {(Node | string)[][]} rows */
function table(heads, rows) {
  return h(
    'div',
    { class: 'table', tabindex: '0', role: 'region', 'aria-label': heads.join(', ') },
    h(
      'table',
      {},
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          heads.map((head) => h('th', { scope: 'col' }, head)),
        ),
      ),
      h(
        'tbody',
        {},
        rows.map((row) =>
          h(
            'tr',
            {},
            row.map((cell) => h('td', {}, cell)),
          ),
        ),
      ),
    ),
  )
}

/** Put the base URL into the guide and its samples. @param {string} baseUrl */
function fillGuides(baseUrl) {
  fill('base_url', [baseUrl])
  for (const show of guideSamples) show(baseUrl)
}

/** Give the guide its links and buttons, and make cards of its samples, which wait for the base URL. */
function prepareGuides() {
  const base = place('.base')
  base.append(copyButton(() => base.querySelector('code')?.textContent ?? '', 'the base URL'))
  for (const heading of document.querySelectorAll('.guide h2')) {
    heading.append(anchor(heading.closest('section')?.id ?? '', heading.textContent ?? ''))
  }
  const samples = [...document.querySelectorAll('pre')].map((pre) => {
    const { language = '', title = '' } = pre.dataset
    const text = pre.textContent ?? ''
    const card = codeCard({ head: h('span', { class: 'code-title' }, title), what: title })
    pre.replaceWith(card.element)
    return (/** @type {string} */ baseUrl) => card.show(text.replaceAll('{base_url}', baseUrl), language)
  })
  fill('receivers', [receiversCard(document.querySelectorAll('a[data-receiver]'))])
  return samples
}

/** @param {string} name @param {(Node | string)[]} content */
function fill(name, content) {
  for (const element of document.querySelectorAll(`[data-fill="${name}"]`)) element.replaceChildren(...content)
}

/**
 * A side column stays in view beside its text. One taller than the window sticks by its end instead of its beginning,
 * so that all of it can be reached.
 * @param {HTMLElement} target
 */
function keepSidesInView(target) {
  const sides = [...target.querySelectorAll('.sticky')].filter((side) => side instanceof HTMLElement)
  const fit = (/** @type {HTMLElement} */ side) =>
    side.style.setProperty('--end', `${Math.floor(innerHeight - side.offsetHeight - 24)}px`)
  const observer = new ResizeObserver((entries) => {
    for (const { target: side } of entries) if (side instanceof HTMLElement) fit(side)
  })
  for (const side of sides) observer.observe(side)
  addEventListener('resize', () => sides.forEach(fit))
}

/** Light or dark as the system says, until the reader says otherwise. */
function startTheme() {
  const choice = kept('localStorage', 'parley.docs.theme')
  const system = matchMedia('(prefers-color-scheme: dark)')
  const button = place('#theme')
  const apply = () => {
    const chosen = choice.read()
    const dark = chosen ? chosen === 'dark' : system.matches
    document.documentElement.dataset.theme = dark ? 'dark' : 'light'
    button.setAttribute('aria-label', `Switch to ${dark ? 'light' : 'dark'} theme`)
  }
  button.addEventListener('click', () => {
    choice.write(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark')
    apply()
  })
  system.addEventListener('change', apply)
  apply()
}

/** An element that index.html has. @param {string} selector */
function place(selector) {
  const element = document.querySelector(selector)
  if (!(element instanceof HTMLElement)) throw new Error(`index.html lacks ${selector}`)
  return element
}
