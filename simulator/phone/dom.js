// @ts-check
/**
 * Elements, made by hand: text is only ever set as text, never parsed as HTML,
 * so nothing that anybody writes in a message can become part of the page.
 */

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

/** @param {string} selector */
export function place(selector) {
  const found = document.querySelector(selector)
  if (!(found instanceof HTMLElement)) throw new Error(`the page has no ${selector}`)
  return found
}

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @param {...Node} children
 */
export function svg(name, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value))
  element.append(...children)
  return element
}

const icons = {
  accepted: 'M12 7.5V12l3 2M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17z',
  sent: 'm5.5 12.8 4.2 4.2L18.5 7.5',
  delivered: 'm1.8 12.8 4.2 4.2 8.6-9.5M11.4 15.6l1.3 1.4L22 7.2',
  failed: 'M12 7v6M12 16.6v.1M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z',
  react: 'M20.5 11.5A8.5 8.5 0 1 1 12.5 3M8.6 14.2a4.4 4.4 0 0 0 6.8 0M9 9.6v.1M15 9.6v.1M19 2.5v6M16 5.5h6',
  reply: 'M9.5 5.5 4 11l5.5 5.5M4.5 11H13a7 7 0 0 1 7 7v.5',
  plus: 'M12 5v14M5 12h14',
  send: 'M12 19.5v-15M5.5 11 12 4.5l6.5 6.5',
  microphone: 'M12 3.5a3 3 0 0 0-3 3v5a3 3 0 0 0 6 0v-5a3 3 0 0 0-3-3zM5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v3M9 21h6',
  picture: 'M4 5.5h16v13H4zM4 15.5l4.5-4.5 4 4 2.5-2.5 5 5M15.5 9.2v.1',
  document: 'M6 3.5h8l4.5 4.5v12.5H6zM14 3.5V8h4.5M9 12.5h6M9 16h6',
  video: 'M3.5 6.5h12v11h-12zM15.5 10.5l5-3v9l-5-3z',
  pin: 'M12 21s-6.5-6-6.5-11a6.5 6.5 0 1 1 13 0c0 5-6.5 11-6.5 11zM12 12.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4z',
  link: 'M14 5h5v5M19 5l-8.5 8.5M10.5 6H5v13h13v-5.5',
  copy: 'M8.5 8.5h11v11h-11zM5 15.5h-.5v-11h11V5',
  call: 'M6 3.5 9 4l1.5 4-2 1.5a12 12 0 0 0 6 6l1.5-2 4 1.5.5 3c-1.5 2.5-6 3.5-11-1.5s-6-9.5-3.5-13z',
  close: 'M6 6l12 12M18 6 6 18',
  down: 'M12 5v14M6 13l6 6 6-6',
  left: 'm14.5 5.5-6.5 6.5 6.5 6.5',
  right: 'm9.5 5.5 6.5 6.5-6.5 6.5',
  play: 'M8 5.2v13.6L19 12z',
  pause: 'M8.5 5.5v13M15.5 5.5v13',
  shuffle:
    'M4 7h3c5 0 5 10 10 10h3M4 17h3c2 0 3.2-1.6 4.2-3.6M13 10c1-1.8 2.2-3 4-3h3M17.5 4.5 20 7l-2.5 2.5M17.5 14.5 20 17l-2.5 2.5',
  person: 'M12 11.5a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.5c.5-4 3.5-6 7.5-6s7 2 7.5 6',
  check: 'm5.5 12.8 4.2 4.2L18.5 7.5',
  bin: 'M5 6.5h14M9.5 6.5V4h5v2.5M7 6.5l.8 13h8.4l.8-13',
}
/** @typedef {keyof typeof icons} IconName */

/** A line drawing; it says nothing by itself, so what it means stands beside it or in its button's label. @param {IconName} name */
export function icon(name) {
  return svg(
    'svg',
    { viewBox: '0 0 24 24', class: `icon icon-${name}`, 'aria-hidden': 'true' },
    svg('path', { d: icons[name] }),
  )
}

/**
 * A button that is only a drawing.
 * @param {IconName} name
 * @param {string} label
 * @param {(event: MouseEvent) => void} click
 * @param {Record<string, unknown>} [attributes]
 */
export function iconButton(name, label, click, attributes = {}) {
  return h(
    'button',
    { type: 'button', class: 'icon-button', 'aria-label': label, title: label, click, ...attributes },
    icon(name),
  )
}

/**
 * The clipboard exists only on https and localhost; a service on plain http in one's own network has the old way.
 * @param {string} text
 * @param {string} what
 */
export async function copy(text, what) {
  let copied = true
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    const had = document.activeElement
    const area = h('textarea', { class: 'offscreen', readonly: true }, text)
    document.body.append(area)
    area.select()
    copied = document.execCommand('copy')
    area.remove()
    if (had instanceof HTMLElement) had.focus()
  }
  toast(copied ? `${what} copied` : `${what} could not be copied`)
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let toastTimer

/** A passing word at the foot of the page. @param {string} text */
export function toast(text) {
  const element = place('#toast')
  element.textContent = text
  element.classList.add('shown')
  clearTimeout(toastTimer)
  toastTimer = setTimeout(() => element.classList.remove('shown'), 2600)
}

/** @type {string[]} */
let unsaid = []

/** For those who listen: what arrives within a moment is said as one. @param {string} text */
export function announce(text) {
  unsaid.push(text)
  if (unsaid.length > 1) return
  setTimeout(() => {
    const said = unsaid.length > 3 ? [`${unsaid.length} new messages`, ...unsaid.slice(-1)] : unsaid
    unsaid = []
    place('#announcer').replaceChildren(...said.map((line) => h('p', {}, line)))
  }, 250)
}

/**
 * An address somebody else wrote: http and https only, or nothing.
 * @param {string | null | undefined} address
 */
export function safeUrl(address) {
  if (!address) return undefined
  try {
    const url = new URL(address, location.origin)
    return ['http:', 'https:'].includes(url.protocol) ? url.href : undefined
  } catch {
    return undefined
  }
}

/** The page may play and fetch only what comes from its own origin. @param {string | null | undefined} address */
export function ownUrl(address) {
  if (address?.startsWith('blob:')) return address
  const url = safeUrl(address)
  return url && new URL(url).origin === location.origin ? url : undefined
}

/**
 * What the reader chose, kept where there is a place to keep it.
 * @param {string} name
 */
export function kept(name) {
  /** A browser may forbid storage: then a choice holds until the page is left. @type {string | null} */
  let chosen = null
  try {
    chosen = localStorage.getItem(name)
  } catch {}
  return {
    read: () => chosen,
    /** @param {string} value */
    write(value) {
      chosen = value
      try {
        localStorage.setItem(name, value)
      } catch {}
    },
  }
}

/** Moments, not seconds, and none for whoever asked for stillness. */
export const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches

/**
 * The same numbers for the same text, between 0 and 1: waveforms, maps and colours that stay as they were.
 * @param {string} text
 */
export function seeded(text) {
  let state = 2166136261
  for (let at = 0; at < text.length; at++) state = Math.imul(state ^ text.charCodeAt(at), 16777619)
  return () => {
    state = Math.imul(state ^ (state >>> 15), 2246822519) + 0x9e3779b9
    return ((state ^ (state >>> 13)) >>> 0) / 4294967296
  }
}

/**
 * A small menu above everything, beside what opened it. Escape, a click elsewhere and a choice close it.
 * @param {HTMLElement} opener
 * @param {string} label
 * @param {string} className
 * @param {(close: () => void) => Child[]} content
 */
export function openMenu(opener, label, className, content) {
  const menu = h('div', { popover: 'auto', class: `menu ${className}`, role: 'menu', 'aria-label': label })
  const close = () => menu.hidePopover()
  menu.append(...content(close).filter((child) => child instanceof Node))
  menu.addEventListener('toggle', (event) => {
    if (/** @type {ToggleEvent} */ (event).newState !== 'closed') return
    const lost = menu.contains(document.activeElement) || document.activeElement === document.body
    menu.remove()
    opener.setAttribute('aria-expanded', 'false')
    if (lost && opener.isConnected) opener.focus()
  })
  menu.addEventListener('keydown', (event) => {
    const items = [...menu.querySelectorAll('button')]
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key]
    if (!step) return
    event.preventDefault()
    const at = items.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement))
    items.at((at + step) % items.length)?.focus()
  })
  document.body.append(menu)
  menu.showPopover()
  opener.setAttribute('aria-expanded', 'true')
  const from = opener.getBoundingClientRect()
  const { width, height } = menu.getBoundingClientRect()
  // It stays over the phone it belongs to, where that is wide enough.
  const around = (opener.closest('.screen') ?? document.body).getBoundingClientRect()
  const middle = from.left + from.width / 2 - width / 2
  const left = Math.max(
    8,
    Math.min(Math.max(around.left + 8, middle), around.right - width - 8, innerWidth - width - 8),
  )
  const above = from.top - height - 8
  menu.style.left = `${left}px`
  menu.style.top = `${above >= 8 ? above : Math.min(from.bottom + 8, innerHeight - height - 8)}px`
  menu.querySelector('button')?.focus()
  return close
}
