// @ts-check
/**
 * The navigation: drawn from the sections that are on the page, filtered by
 * the search box, marking where the reader is. On a narrow screen it is a
 * drawer behind a button.
 */
import { h, methodBadge, newId } from './dom.js'

export function startNavigation() {
  const links = element('links')
  const search = /** @type {HTMLInputElement} */ (element('search'))
  const state = element('search-state')
  const drawer = startDrawer()

  /** @type {IntersectionObserver | undefined} */
  let observer

  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
    let found = 0
    for (const group of links.querySelectorAll('.nav-group')) {
      let visible = 0
      for (const item of group.querySelectorAll('li')) {
        item.hidden = !words.every((word) => item.dataset.text?.includes(word))
        if (!item.hidden) visible++
      }
      if (group instanceof HTMLElement) group.hidden = visible === 0
      found += visible
    }
    state.textContent = words.length === 0 ? '' : found === 0 ? 'Nothing found' : `${found} found`
  }
  search.addEventListener('input', filter)
  search.addEventListener('keydown', (event) => {
    const [first] = shown(links)
    if (event.key === 'Enter') first?.click()
    else if (event.key === 'ArrowDown') first?.focus()
    else if (event.key === 'Escape' && search.value) {
      search.value = ''
      filter()
      event.stopPropagation()
    } else return
    event.preventDefault()
  })
  links.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (!step) return
    const list = shown(links)
    const next = list.indexOf(/** @type {HTMLElement} */ (document.activeElement)) + step
    event.preventDefault()
    if (next < 0) search.focus()
    else list[next]?.focus()
  })
  document.addEventListener('keydown', (event) => {
    const typing = event.target instanceof Element && event.target.closest('input, textarea, select')
    const wanted = (event.key === '/' && !typing) || (event.key === 'k' && (event.metaKey || event.ctrlKey))
    if (!wanted || (event.key === '/' && (event.metaKey || event.ctrlKey || event.altKey))) return
    event.preventDefault()
    drawer.open()
    search.focus()
    search.select()
  })

  return {
    /** Draw the links anew, from what the page has now. */
    draw() {
      const guides = sections('#guides > section').map((section) => ({
        section,
        title: section.dataset.nav ?? headingOf(section, 'h2'),
      }))
      const groups = sections('#operations > section')
      links.replaceChildren(
        group(
          'Guide',
          undefined,
          guides.map(({ section, title }) => link(section.id, title, undefined, title)),
        ),
        ...groups.map((own) => {
          const title = own.dataset.nav ?? ''
          const items = [...own.querySelectorAll('.operation')].map((section) => {
            const method = section.querySelector('.method')?.textContent ?? ''
            const path = section.querySelector('.endpoint code')?.textContent ?? ''
            const summary = headingOf(section, 'h3')
            return link(
              section.id,
              summary,
              method,
              `${title} ${method} ${path} ${summary} ${section.id.replace('operation-', '')}`,
            )
          })
          return group(title, own.id, items)
        }),
      )
      filter()
      observer?.disconnect()
      observer = watch(links, [
        ...guides.map(({ section }) => section),
        ...groups.flatMap((own) => [...own.querySelectorAll('.group-head, .operation')]),
      ])
    },
  }
}

/** @param {string} title @param {string | undefined} id @param {HTMLLIElement[]} items */
function group(title, id, items) {
  const titleId = newId()
  const head = id ? h('a', { href: `#${id}` }, title) : title
  return h(
    'div',
    { class: 'nav-group' },
    h('p', { class: 'nav-title', id: titleId }, head),
    h('ul', { 'aria-labelledby': titleId }, items),
  )
}

/** @param {string} id @param {string} title @param {string | undefined} method @param {string} text */
function link(id, title, method, text) {
  return h(
    'li',
    { 'data-text': text.toLowerCase() },
    h('a', { class: 'nav-link', href: `#${id}` }, h('span', {}, title), method && methodBadge(method)),
  )
}

/** @param {Element} section @param {string} level */
function headingOf(section, level) {
  return section.querySelector(level)?.firstChild?.textContent ?? ''
}

/** @param {string} selector @returns {HTMLElement[]} */
function sections(selector) {
  return [...document.querySelectorAll(selector)].filter((section) => section instanceof HTMLElement)
}

/** @param {HTMLElement} links */
function shown(links) {
  return [...links.querySelectorAll('li:not([hidden]) a')].filter((link) => link instanceof HTMLElement)
}

/**
 * Mark the link of the first section in the upper part of the window.
 * @param {HTMLElement} links
 * @param {Element[]} watched
 */
function watch(links, watched) {
  const visible = new Set()
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) isIntersecting ? visible.add(target) : visible.delete(target)
      const current = watched.find((section) => visible.has(section))
      if (!current) return
      const id = current.id || current.parentElement?.id
      for (const link of links.querySelectorAll('a')) {
        const is = link.hash === `#${id}`
        if (is === link.hasAttribute('aria-current')) continue
        if (!is) link.removeAttribute('aria-current')
        else {
          link.setAttribute('aria-current', 'location')
          reveal(link)
        }
      }
    },
    { rootMargin: '-104px 0px -65% 0px' },
  )
  for (const section of watched) observer.observe(section)
  return observer
}

/** Scroll the navigation alone: `scrollIntoView` would stop the page's own scrolling. @param {HTMLElement} link */
function reveal(link) {
  const sidebar = element('sidebar')
  const { top, bottom } = link.getBoundingClientRect()
  const box = sidebar.getBoundingClientRect()
  if (top < box.top + 80) sidebar.scrollTop += top - box.top - 80
  else if (bottom > box.bottom - 40) sidebar.scrollTop += bottom - box.bottom + 40
}

/** The navigation as a drawer; on a wide screen its button is not shown and none of this happens. */
function startDrawer() {
  const button = element('menu')
  const sidebar = element('sidebar')
  const main = element('main')
  const isOpen = () => document.body.classList.contains('menu-open')
  /** @param {boolean} open */
  const set = (open) => {
    if (open === isOpen() || (open && getComputedStyle(button).display === 'none')) return
    document.body.classList.toggle('menu-open', open)
    button.setAttribute('aria-expanded', String(open))
    main.inert = open
  }
  button.addEventListener('click', () => set(!isOpen()))
  document.addEventListener('click', (event) => {
    const { target } = event
    if (!(target instanceof Element) || button.contains(target)) return
    if (target.closest('a') || !sidebar.contains(target)) set(false)
  })
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !isOpen()) return
    set(false)
    button.focus()
  })
  matchMedia('(min-width: 820px)').addEventListener('change', () => set(false))
  return { open: () => set(true) }
}

/** An element that index.html has. @param {string} id */
function element(id) {
  const found = document.getElementById(id)
  if (!found) throw new Error(`index.html lacks #${id}`)
  return found
}
