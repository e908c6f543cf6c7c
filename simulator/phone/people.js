// @ts-check
/**
 * Who is on the table, as a row of chips, and a list of everybody else.
 *
 * A campaign may have reached thousands: the table holds a dozen phones, the
 * rest wait in the list until somebody picks them up.
 */
import { h, icon, iconButton, newId, seeded } from './dom.js'
import { addressOf, channelTitle, initialsOf, keyOf, titleOf } from './handset.js'
import { summaryOf } from './message.js'

/** @typedef {import('./api.js').Phone} Phone */

const listed = 60

/** @param {Phone} phone */
function faceOf(phone) {
  const face = h('span', { class: 'face', 'aria-hidden': 'true' }, initialsOf(titleOf(phone)))
  face.style.setProperty('--turn', `${Math.round(seeded(keyOf(phone))() * 360)}deg`)
  return face
}

/** @param {{ element: HTMLElement, go: (key: string) => void, more: () => void }} about */
export function startPeople({ element, go, more }) {
  /** @type {Map<string, { item: HTMLElement, button: HTMLButtonElement, badge: HTMLElement }>} */
  const chips = new Map()
  const moreBadge = h('span', { class: 'badge', hidden: true })
  const moreButton = h('button', { type: 'button', class: 'chip more', 'aria-haspopup': 'dialog', click: more })
  const moreItem = h('li', {}, moreButton)

  return {
    /** @param {Phone[]} phones @param {number} others how many wait in the list */
    draw(phones, others) {
      const keys = phones.map(keyOf)
      for (const [key, { item }] of chips)
        if (!keys.includes(key)) {
          item.remove()
          chips.delete(key)
        }
      for (const phone of phones) {
        const key = keyOf(phone)
        if (chips.has(key)) continue
        const badge = h('span', { class: 'badge', hidden: true })
        const button = h(
          'button',
          {
            type: 'button',
            class: 'chip',
            'data-channel': phone.channel,
            title: `${addressOf(phone)} · ${channelTitle(phone.channel)}`,
            click: () => go(key),
          },
          faceOf(phone),
          h('bdi', {}, titleOf(phone)),
          badge,
        )
        chips.set(key, { item: h('li', {}, button), button, badge })
      }
      element.replaceChildren(
        ...keys.map((key) => /** @type {{ item: HTMLElement }} */ (chips.get(key)).item),
        ...(others > 0 ? [moreItem] : []),
      )
      moreButton.replaceChildren(`${others} more`, moreBadge)
    },
    /** @param {string | undefined} current @param {Map<string, number>} unread */
    mark(current, unread) {
      let hidden = 0
      for (const [key, count] of unread) {
        const chip = chips.get(key)
        if (!chip) {
          hidden += count
          continue
        }
        show(chip.badge, count)
      }
      for (const [key, { button, item }] of chips) {
        const is = key === current
        if (is === button.hasAttribute('aria-current')) continue
        if (!is) button.removeAttribute('aria-current')
        else {
          button.setAttribute('aria-current', 'true')
          // Only the row of chips itself may move, never the page.
          const strip = element.parentElement
          if (strip)
            strip.scrollTo({ left: item.offsetLeft - strip.offsetLeft - strip.clientWidth / 2 + item.offsetWidth / 2 })
        }
      }
      show(moreBadge, hidden)
    },
  }
}

/** @param {HTMLElement} badge @param {number} count */
function show(badge, count) {
  badge.hidden = count === 0
  badge.replaceChildren(count > 99 ? '99+' : String(count), h('span', { class: 'offscreen' }, ' unread'))
}

/**
 * @param {Phone[]} phones
 * @param {(key: string) => void} pick
 */
export function openPeople(phones, pick) {
  const id = newId()
  const search = h('input', {
    type: 'search',
    placeholder: 'Name or number',
    'aria-label': 'Find a customer',
    autocomplete: 'off',
    spellcheck: 'false',
  })
  const list = h('ul', { class: 'found' })
  const state = h('p', { class: 'quiet', role: 'status' })
  const dialog = h(
    'dialog',
    { class: 'sheet', 'aria-labelledby': id },
    h(
      'header',
      {},
      h('h2', { id }, 'All customers'),
      iconButton('close', 'Close', () => dialog.close()),
    ),
    h('div', { class: 'sheet-body' }, search, state, list),
  )
  const draw = () => {
    const asked = search.value.trim().toLowerCase().replace(/^@/, '')
    const found = phones.filter((phone) =>
      `${titleOf(phone)} ${addressOf(phone)} ${phone.id}`.toLowerCase().includes(asked),
    )
    state.textContent =
      found.length > listed ? `${found.length} found, the latest ${listed} are shown` : `${found.length} found`
    list.replaceChildren(
      ...found.slice(0, listed).map((phone) => {
        const last = phone.messages.at(-1)
        return h(
          'li',
          {},
          h(
            'button',
            {
              type: 'button',
              class: 'person',
              'data-channel': phone.channel,
              click: () => {
                dialog.close()
                pick(keyOf(phone))
              },
            },
            faceOf(phone),
            h(
              'span',
              {},
              h('strong', {}, h('bdi', {}, titleOf(phone))),
              h('small', {}, `${addressOf(phone)} · ${channelTitle(phone.channel)}`),
              last && h('small', { class: 'last', dir: 'auto' }, summaryOf(last)),
            ),
            icon('right'),
          ),
        )
      }),
    )
  }
  search.addEventListener('input', draw)
  dialog.addEventListener('close', () => dialog.remove())
  draw()
  document.body.append(dialog)
  dialog.showModal()
}
