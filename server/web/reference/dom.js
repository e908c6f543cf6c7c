// @ts-check
/**
 * Elements, made by hand: text is only ever set as text, never parsed as HTML,
 * so nothing in the document or in an answer can become part of the page.
 */
import { highlight } from './samples.js'

/** @typedef {Node | string | false | null | undefined} Child */

/**
 * An element. A function among the attributes listens to the event of its name; `false` and `undefined` are left out.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue
    if (typeof value === 'function') element.addEventListener(key, /** @type {EventListener} */ (value))
    else element.setAttribute(key, value === true ? '' : String(value))
  }
  for (const child of children.flat()) if (child || child === '') element.append(child)
  return element
}

let lastId = 0
export const newId = () => `part-${++lastId}`

/**
 * Paragraphs of a description: blank lines part them.
 * @param {string | undefined} text
 */
export function prose(text) {
  return (text ?? '')
    .split(/\n\s*\n/)
    .filter((paragraph) => paragraph.trim())
    .map((paragraph) => h('p', {}, inline(paragraph)))
}

/**
 * Text with `code` and **bold**.
 * @param {string} text
 */
export function inline(text) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
    if (/^`.+`$/s.test(part)) return h('code', {}, part.slice(1, -1))
    if (/^\*\*.+\*\*$/s.test(part)) return h('strong', {}, part.slice(2, -2))
    return part
  })
}

/** @param {string} method */
export function methodBadge(method) {
  return h('span', { class: `method ${method.toLowerCase()}` }, method)
}

/** @param {number} status */
export function statusPill(status) {
  return h('span', { class: `status s${Math.floor(status / 100)}` }, String(status))
}

/** @param {string} id @param {string} what */
export function anchor(id, what) {
  return h('a', { class: 'anchor', href: `#${id}`, 'aria-label': `Link to ${what}` }, '#')
}

/**
 * @param {() => string} read
 * @param {string} what
 */
export function copyButton(read, what) {
  const button = h('button', { type: 'button', class: 'copy', 'aria-label': `Copy ${what}` }, 'Copy')
  button.addEventListener('click', async () => {
    const copied = await copy(read())
    button.textContent = copied ? 'Copied' : 'Press Ctrl+C'
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 1600)
  })
  return button
}

/**
 * The clipboard exists only on https and localhost; a service on plain http in one's own network has the old way.
 * @param {string} text
 */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = h('textarea', { class: 'offscreen', readonly: true }, text)
    document.body.append(area)
    area.select()
    const copied = document.execCommand('copy')
    area.remove()
    return copied
  }
}

/**
 * @param {string} code
 * @param {string} language
 */
function colored(code, language) {
  return h(
    'code',
    {},
    highlight(code, language).map(({ kind, text }) => (kind ? h('span', { class: `t-${kind}` }, text) : text)),
  )
}

/**
 * A dark card of code with a title or tabs, and a copy button.
 * @param {{ head: Node | string, what: string }} about
 */
export function codeCard({ head, what }) {
  let text = ''
  const id = newId()
  const role = head instanceof Element && head.role === 'tablist' ? 'tabpanel' : 'group'
  const pre = h('pre', { id, role, tabindex: '0', 'aria-label': what })
  const element = h(
    'div',
    { class: 'code' },
    h(
      'div',
      { class: 'code-head' },
      head,
      copyButton(() => text, what),
    ),
    pre,
  )
  return {
    element,
    id,
    /** @param {string} code @param {string} language */
    show(code, language) {
      text = code
      pre.replaceChildren(colored(code, language))
    },
  }
}

/**
 * Tabs over one panel; the arrow keys go along them.
 * @param {{ label: string, names: string[], panel: () => string, select: (name: string) => void }} about
 */
export function tabs({ label, names, panel, select }) {
  const buttons = names.map((name) =>
    h('button', { type: 'button', role: 'tab', class: 'tab', 'data-tab': name, click: () => select(name) }, name),
  )
  const element = h('div', { class: 'tabs', role: 'tablist', 'aria-label': label }, buttons)
  element.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement))
    if (!step || at < 0) return
    event.preventDefault()
    const next = buttons.at((at + step) % buttons.length)
    next?.focus()
    next?.click()
  })
  return {
    element,
    /** @param {string} selected */
    mark(selected) {
      for (const button of buttons) {
        const is = button.dataset.tab === selected
        button.setAttribute('aria-selected', String(is))
        button.setAttribute('aria-controls', panel())
        button.tabIndex = is ? 0 : -1
      }
    },
  }
}

/**
 * A button that opens what is below it. The inside is made when it is first opened: schemas may go round in circles.
 * @param {{ head: (Child | Child[])[], body: () => Child[], open?: boolean, class: string, label?: string }} about
 */
export function disclosure({ head, body, open = false, class: name, label }) {
  const id = newId()
  const button = h(
    'button',
    { type: 'button', class: `${name}-head`, 'aria-controls': id, 'aria-label': label },
    ...head,
  )
  const inside = h('div', { class: `${name}-body`, id })
  /** @param {boolean} wanted */
  const set = (wanted) => {
    if (wanted && !inside.hasChildNodes()) inside.append(h('div', {}, body()))
    button.setAttribute('aria-expanded', String(wanted))
    inside.hidden = !wanted
  }
  button.addEventListener('click', () => set(button.getAttribute('aria-expanded') === 'false'))
  set(open)
  return h('div', { class: name }, button, inside)
}

/**
 * What the reader chose, kept where there is a place to keep it.
 * @param {'localStorage' | 'sessionStorage'} place
 * @param {string} name
 */
export function kept(place, name) {
  /** A browser may forbid storage: then a choice holds until the page is left. @type {string | null} */
  let chosen = null
  try {
    chosen = window[place].getItem(name)
  } catch {}
  return {
    read: () => chosen,
    /** @param {string} value */
    write(value) {
      chosen = value
      try {
        window[place].setItem(name, value)
      } catch {}
    },
  }
}
