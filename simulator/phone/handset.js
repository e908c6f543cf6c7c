// @ts-check
/**
 * One phone on the table: the customer's name tag, the handset, the
 * conversation with the business and the place to write back.
 */
import { startComposer } from './composer.js'
import { copy, h, icon, iconButton, isStill, newId, svg, toast } from './dom.js'
import { drawMessage } from './message.js'
import { startOutbox } from './outbox.js'
import { firstCall, magicNumbers, readKey } from './samples.js'

/** @typedef {import('./api.js').Bubble} Bubble */
/** @typedef {import('./api.js').Phone} Phone */
/** @typedef {ReturnType<typeof drawMessage>} Drawn */

/** How many messages a phone shows before one asks for earlier ones. */
const page = 150
const runMs = 5 * 60_000
const windowMs = 24 * 60 * 60_000

/** @param {Pick<Phone, 'channel' | 'id'>} phone */
export const keyOf = ({ channel, id }) => `${channel}:${id}`

/** Nobody has told the name of a magic number; what it does serves as one. @param {Phone} phone */
export const titleOf = ({ name, username, id }) =>
  name || username || magicNumbers.find(({ number }) => number === id)?.title || id

/** @param {Phone} phone */
export const addressOf = ({ channel, id, username }) => (channel === 'social' ? (username ? `@${username}` : id) : id)

/** @param {string} name */
export function initialsOf(name) {
  const letters = name.match(/\p{L}+/gu) ?? []
  return letters.length > 0
    ? letters
        .slice(0, 2)
        .map((word) => [...word][0])
        .join('')
        .toUpperCase()
    : '#'
}

/** @param {Phone['channel']} channel */
export const channelTitle = (channel) => (channel === 'social' ? 'Social' : 'Messages')

/**
 * @param {Phone} phone
 * @param {{
 *   workspace: () => import('./api.js').Workspace, putAway: () => void, seen: () => void,
 *   openPhone: (contact: { name: string, phone: string }) => void
 * }} table
 */
export function startHandset(phone, table) {
  const marked = phone.channel === 'msgapp'
  const businessName = () => table.workspace().business_name
  /** @type {Map<string, { drawn: Drawn, content: string }>} */
  const drawn = new Map()
  /** @type {Map<string, HTMLElement>} */
  const days = new Map()
  let shownCount = page
  let isFirst = true

  const log = h('ol', { class: 'log', 'aria-label': `Conversation of ${titleOf(phone)} with ${businessName()}` })
  const earlier = h('button', { type: 'button', class: 'earlier', hidden: true }, 'Show earlier messages')
  const newer = h('button', { type: 'button', class: 'newer', hidden: true }, icon('down'), 'New messages')
  const hint = h('div', { class: 'hint' })
  const scroller = h('div', { class: 'scroller' }, earlier, hint, log)
  const outbox = startOutbox({
    phone,
    workspaceId: () => table.workspace().workspace_id,
    changed: (toEnd) => update({ toEnd }),
  })
  const composer = startComposer({
    label: titleOf(phone),
    // Social knows no places.
    hasPlaces: phone.channel === 'msgapp',
    send: outbox.send,
    whoWrote: (bubble) => (bubble.from === 'customer' ? 'You' : businessName()),
  })
  const businessFace = h('span', { class: 'face', 'aria-hidden': 'true' })
  const businessTitle = h('strong', { dir: 'auto' })
  const businessDetail = h('span')
  const windowNote = h('span', { class: 'window' })
  const hour = h('span', { class: 'hour' })
  const handset = h(
    'div',
    { class: 'handset' },
    h(
      'div',
      { class: 'screen' },
      h('div', { class: 'statusbar', 'aria-hidden': 'true' }, hour, h('i', { class: 'camera' }), drawSignals()),
      h('div', { class: 'chat-head' }, businessFace, h('span', { class: 'chat-title' }, businessTitle, businessDetail)),
      h('div', { class: 'chat' }, scroller, newer),
      composer.element,
      h('i', { class: 'home', 'aria-hidden': 'true' }),
      h('div', { class: 'dropping', 'aria-hidden': 'true' }, icon('picture'), 'Drop it here'),
    ),
  )
  const titleId = newId()
  const element = h(
    'section',
    {
      class: 'phone',
      'data-channel': phone.channel,
      'data-key': keyOf(phone),
      'aria-labelledby': titleId,
      tabindex: '-1',
    },
    h(
      'header',
      { class: 'tag' },
      h(
        'div',
        { class: 'tag-words' },
        h(
          'h2',
          { id: titleId },
          h('bdi', {}, titleOf(phone)),
          h('span', { class: 'offscreen' }, ` on ${channelTitle(phone.channel)}`),
        ),
        h(
          'p',
          { class: 'tag-line' },
          h('span', { class: 'tag-address' }, titleOf(phone) === addressOf(phone) ? '' : addressOf(phone)),
          windowNote,
        ),
      ),
      h(
        'span',
        { class: 'tag-actions' },
        iconButton('copy', phone.channel === 'social' ? 'Copy the user id' : 'Copy the number', () =>
          copy(phone.id, phone.channel === 'social' ? 'User id' : 'Number'),
        ),
        iconButton('close', 'Put this phone away', table.putAway),
      ),
    ),
    handset,
  )

  /** @type {import('./message.js').Doing} */
  const doing = {
    marked,
    businessName,
    find,
    show,
    quote: composer.quote,
    openPhone: table.openPhone,
    retry: outbox.retry,
    tap(bubble, button) {
      const isRow = /LIST|ROW/.test(button.type)
      outbox.send({
        type: isRow ? 'list' : 'button',
        text: button.text,
        button: { id: button.payload || button.text, title: button.text },
        reply_to: bubble.id,
      })
    },
    async react(bubble, emoji) {
      const answer = await outbox.post({ type: 'reaction', text: emoji, reply_to: bubble.id })
      if (!answer.ok) toast(`The reaction was not sent: ${answer.message}`)
    },
  }

  /** @param {string} id */
  function find(id) {
    return phone.messages.find((bubble) => bubble.id === id)
  }

  /** @param {string} id */
  function show(id) {
    const target = drawn.get(id)?.drawn.element
    if (!target) return
    target.scrollIntoView({ block: 'center', behavior: isStill() ? 'instant' : 'smooth' })
    target.focus({ preventScroll: true })
    target.classList.remove('flash')
    void target.offsetWidth
    target.classList.add('flash')
  }

  /**
   * Draw what changed; what has not, stays as it stands.
   * @param {{ toEnd?: boolean, live?: boolean }} how
   */
  function update({ toEnd = false, live = false }) {
    const pending = outbox.settle()
    const atEnd = isFirst || toEnd || scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 60
    const feelings = feelingsOf(phone.messages)
    const all = [...phone.messages.filter(({ type, reaction }) => !(type === 'reaction' && reaction)), ...pending]
    const bubbles = all.slice(-shownCount)
    const tapped = tappedOf(all)
    earlier.hidden = all.length <= shownCount
    const wanted = /** @type {HTMLElement[]} */ ([])
    const kept = new Set(bubbles.map(({ id }) => id))
    let before = /** @type {Bubble | undefined} */ (undefined)
    for (const bubble of bubbles) {
      const day = new Date(bubble.at).toDateString()
      const isNewDay = !before || new Date(before.at).toDateString() !== day
      if (isNewDay) wanted.push(dayOf(day, bubble.at))
      const { status, error, ...rest } = bubble
      const content = JSON.stringify(rest)
      let known = drawn.get(bubble.id)
      if (!known || known.content !== content) {
        const next = drawMessage(bubble, doing)
        if (!isFirst && !known && !outbox.isOwn(bubble.id)) next.element.classList.add('arriving')
        if (known?.drawn.element.contains(document.activeElement))
          queueMicrotask(() => next.element.focus({ preventScroll: true }))
        known = { drawn: next, content }
        drawn.set(bubble.id, known)
      }
      known.drawn.setStatus(status, error)
      known.drawn.setReactions(feelings.get(bubble.id) ?? new Map())
      known.drawn.setTapped(tapped.get(bubble.id) ?? new Set())
      known.drawn.setFollows(
        !isNewDay && before?.from === bubble.from && Date.parse(bubble.at) - Date.parse(before.at) < runMs,
      )
      wanted.push(known.drawn.element)
      before = bubble
    }
    for (const id of drawn.keys()) if (!kept.has(id)) drawn.delete(id)
    arrange(log, wanted)
    rove()
    showHint(all.length === 0)
    showWindow()
    if (all.length === 0) scroller.scrollTop = 0
    else if (atEnd) toTheEnd()
    else if (live) newer.hidden = false
    isFirst = false
  }

  /** @param {string} day @param {string} at */
  function dayOf(day, at) {
    const known = days.get(day) ?? h('li', { class: 'day' }, h('span', {}))
    days.set(day, known)
    const words = dayWords(at)
    if (known.textContent !== words) known.firstElementChild?.replaceChildren(words)
    return known
  }

  function toTheEnd() {
    newer.hidden = true
    scroller.scrollTop = scroller.scrollHeight
  }

  /** One message can be reached with Tab, the others with the arrows. */
  function rove() {
    const items = /** @type {HTMLElement[]} */ ([...log.querySelectorAll('.message')])
    const current = items.find((item) => item.contains(document.activeElement)) ?? items.at(-1)
    for (const item of items) item.tabIndex = item === current ? 0 : -1
  }

  /** @param {boolean} wanted */
  function showHint(wanted) {
    hint.hidden = !wanted
    if (wanted === hint.hasChildNodes()) return
    hint.replaceChildren(...(wanted ? hintOf(phone) : []))
  }

  function showWindow() {
    if (phone.channel !== 'msgapp') return
    const last = phone.messages.findLast(({ from }) => from === 'customer')
    const until = last ? Date.parse(last.at) + windowMs : 0
    const open = until > Date.now()
    windowNote.classList.toggle('open', open)
    const hours = Math.ceil((until - Date.now()) / 3_600_000)
    windowNote.textContent = open ? `free text, ${hours} h left` : 'templates only'
    windowNote.title = open
      ? `The customer wrote within 24 hours: until ${new Date(until).toLocaleString([], { weekday: 'long', hour: 'numeric', minute: '2-digit' })} the business may write anything.`
      : 'The customer has not written for 24 hours: only a template reaches them.'
  }

  function showBusiness() {
    const { business_name, display_phone_number } = table.workspace()
    businessTitle.textContent = business_name
    businessFace.textContent = initialsOf(business_name)
    const number = display_phone_number?.replace(/^(?=\d+$)/, '+')
    businessDetail.textContent = phone.channel === 'social' ? 'Social' : number || 'Messages'
  }

  earlier.addEventListener('click', () => {
    const from = scroller.scrollHeight - scroller.scrollTop
    shownCount += page
    update({})
    scroller.scrollTop = scroller.scrollHeight - from
  })
  newer.addEventListener('click', toTheEnd)
  scroller.addEventListener('scroll', () => {
    if (scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 60) newer.hidden = true
  })
  log.addEventListener('keydown', (event) => {
    const items = /** @type {HTMLElement[]} */ ([...log.querySelectorAll('.message')])
    const at = items.indexOf(/** @type {HTMLElement} */ (event.target))
    if (at < 0) return
    const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: items.length - 1 }[event.key]
    if (to === undefined) return
    event.preventDefault()
    const next = items[Math.max(0, Math.min(items.length - 1, to))]
    next?.focus()
    next?.scrollIntoView({ block: 'nearest' })
  })
  log.addEventListener('focusin', rove)
  element.addEventListener('focusin', table.seen)
  listenForFiles(handset, composer.attach)
  const resized = new ResizeObserver(() => {
    if (newer.hidden && hint.hidden) toTheEnd()
  })
  resized.observe(scroller)

  const tell = () => {
    hour.textContent = new Date().toLocaleTimeString([], { hour: 'numeric', minute: '2-digit' })
    showWindow()
  }
  tell()
  const ticking = setInterval(tell, 10_000)
  showBusiness()
  update({})

  return {
    element,
    phone,
    update,
    showBusiness,
    focus: () => composer.focus(),
    /** A handset on a table hums when something comes. */
    hum() {
      if (isStill()) return
      handset.classList.remove('humming')
      void handset.offsetWidth
      handset.classList.add('humming')
    },
    stop() {
      clearInterval(ticking)
      resized.disconnect()
      composer.stop()
      element.remove()
    },
  }
}

/** The last feeling of each side about each message; an empty one takes it back. @param {Bubble[]} messages */
function feelingsOf(messages) {
  /** @type {Map<string, Map<string, string>>} */
  const found = new Map()
  for (const { reaction, from } of messages) {
    if (!reaction) continue
    const about = found.get(reaction.message_id) ?? new Map()
    if (reaction.emoji) about.set(from, reaction.emoji)
    else about.delete(from)
    found.set(reaction.message_id, about)
  }
  return found
}

/** Which replies of which message were tapped. @param {Bubble[]} messages */
function tappedOf(messages) {
  /** @type {Map<string, Set<string>>} */
  const found = new Map()
  for (const { type, from, reply_to, text } of messages) {
    if (from !== 'customer' || !reply_to || !text || !['button', 'interactive', 'list'].includes(type)) continue
    found.set(reply_to, (found.get(reply_to) ?? new Set()).add(text))
  }
  return found
}

/** Put the wanted nodes in this order and move none that already stands right. @param {HTMLElement} parent @param {HTMLElement[]} wanted */
function arrange(parent, wanted) {
  const keep = new Set(wanted)
  for (const child of [...parent.children]) if (!keep.has(/** @type {HTMLElement} */ (child))) child.remove()
  let next = parent.firstElementChild
  for (const node of wanted) {
    if (node === next) next = next.nextElementSibling
    else parent.insertBefore(node, next)
  }
}

/** @param {string} at */
function dayWords(at) {
  const day = new Date(at)
  const midnight = (/** @type {Date} */ date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime()
  const ago = Math.round((midnight(new Date()) - midnight(day)) / 86_400_000)
  if (ago === 0) return 'Today'
  if (ago === 1) return 'Yesterday'
  if (ago > 1 && ago < 7) return day.toLocaleDateString([], { weekday: 'long' })
  return day.toLocaleDateString([], { day: 'numeric', month: 'long', year: 'numeric' })
}

/** @param {Phone} phone */
function hintOf(phone) {
  if (phone.channel === 'social')
    return [
      h('h3', {}, 'They write first'),
      h(
        'p',
        {},
        'On Social a business answers, it does not begin. Say hello below, then answer in the ',
        h('a', { href: '/' }, 'dashboard'),
        '.',
      ),
    ]
  const call = `${readKey}\n\n${firstCall(phone.id)}`
  return [
    h('h3', {}, 'Nothing here yet'),
    h('p', {}, 'Send this phone its first message from a terminal, in the folder of the service:'),
    h(
      'div',
      { class: 'sample' },
      h('pre', { tabindex: '0', role: 'group', 'aria-label': 'The call' }, h('code', {}, call)),
      h('button', { type: 'button', class: 'button small', click: () => copy(call, 'The call') }, icon('copy'), 'Copy'),
    ),
    h(
      'p',
      {},
      h('code', {}, '$KEY'),
      ' is the ',
      h('code', {}, 'api_key'),
      ' in ',
      h('code', {}, 'data/demo.json'),
      '.',
    ),
    h('p', {}, 'Or write below: a customer may begin, too.'),
  ]
}

/** @param {HTMLElement} target @param {(file: File) => void} take */
function listenForFiles(target, take) {
  const hasFile = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes('Files')
  target.addEventListener('dragover', (event) => {
    if (!hasFile(event)) return
    event.preventDefault()
    target.classList.add('hovered')
  })
  target.addEventListener('dragleave', (event) => {
    if (!target.contains(/** @type {Node | null} */ (event.relatedTarget))) target.classList.remove('hovered')
  })
  target.addEventListener('drop', (event) => {
    target.classList.remove('hovered')
    if (!hasFile(event)) return
    event.preventDefault()
    const dropped = event.dataTransfer?.files[0]
    if (dropped) take(dropped)
  })
}

function drawSignals() {
  return svg(
    'svg',
    { class: 'signals', viewBox: '0 0 46 12' },
    svg('path', { d: 'M1 11V8.5h2.5V11zM5.5 11V6H8v5zM10 11V3.5h2.5V11zM14.5 11V1H17v10z' }),
    svg('rect', { x: 23.5, y: 1.5, width: 18, height: 9, rx: 2.5, class: 'battery' }),
    svg('rect', { x: 25.5, y: 3.5, width: 11, height: 5, rx: 1 }),
    svg('rect', { x: 43, y: 4.5, width: 1.5, height: 3, rx: 0.75 }),
  )
}
