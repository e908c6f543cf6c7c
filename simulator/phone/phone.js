// @ts-check
/**
 * The phone: lays the customers' handsets on the table, keeps them up to date
 * with the simulator's stream, and puts new ones down.
 *
 * The stream is opened first and the state is read once it stands, each time
 * it stands; what arrives in between waits. So nothing is missed at the start
 * or after a gap, and what comes twice changes nothing.
 */
import { openAdd } from './add.js'
import { readTable, startStream } from './api.js'
import { announce, h, icon, isStill, kept, place, toast } from './dom.js'
import { addressOf, keyOf, startHandset, titleOf } from './handset.js'
import { summaryOf } from './message.js'
import { openPeople, startPeople } from './people.js'
import { startRehearsal } from './rehearse.js'
import { firstPerson } from './samples.js'

/** @typedef {import('./api.js').Phone} Phone */
/** @typedef {import('./api.js').Bubble} Bubble */
/** @typedef {ReturnType<typeof startHandset>} Handset */

/** How many phones lie on the table at first, and before new ones go to the list. */
const roomFor = 12
/** A stream that opens late must not keep the table empty. */
const patienceMs = 2500
/** A short break is nobody's business. */
const calmMs = 900
const rank = { sending: 0, accepted: 1, sent: 2, delivered: 3, read: 4, failed: 5 }

const tableElement = place('#table')
const notice = place('#notice')

/** @type {Map<string, Phone>} */
let phones = new Map()
/** @type {Map<string, Handset>} */
let handsets = new Map()
/** @type {Map<string, number>} */
let unread = new Map()
/** @type {Set<string>} */
let inView = new Set()
/** @type {string | undefined} */
let current
/** @type {import('./api.js').Workspace} */
let workspace = { workspace_id: '', business_name: 'The business' }
let workspaceId = new URLSearchParams(location.search).get('workspace_id') ?? undefined
let isLoaded = false
/** Events that wait for the state to be read; `undefined` when they need not wait. @type {(() => void)[] | undefined} */
let waiting = []
/** @type {ReturnType<typeof setTimeout> | undefined} */
let lostTimer
/** @type {{ stop: () => void } | undefined} */
let stream
/** The last reading asked for: an older one that answers late is thrown away. */
let reading = 0

const people = startPeople({
  element: place('#people'),
  go: (key) => bring(key, { focus: true }),
  more: () => openPeople(newestFirst([...phones.values()]), (key) => bring(key, { focus: true })),
})
const rehearsal = startRehearsal({
  panel: place('#panel'),
  button: place('#rehearse'),
  count: place('#fault-count'),
  currentNumber,
  numbers: () => [...phones.values()].filter(({ channel }) => channel === 'msgapp').map(({ id }) => id),
  openPhone: ({ name, phone }) => addCustomer({ channel: 'msgapp', id: phone, name, username: null }),
})
const watcher = new IntersectionObserver(watch, { root: tableElement, threshold: [0, 0.6, 1] })

place('#add').addEventListener('click', () => openAdd(addCustomer))
place('#workspace-choice').addEventListener('change', (event) => {
  workspaceId = /** @type {HTMLSelectElement} */ (event.target).value
  history.replaceState(null, '', `?${new URLSearchParams({ workspace_id: workspaceId })}`)
  clearTable()
  begin()
})
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) for (const key of inView) markRead(key)
})
begin()

function begin() {
  stream?.stop()
  clearTimeout(lostTimer)
  lostTimer = undefined
  waiting = []
  isLoaded = false
  tableElement.setAttribute('aria-busy', 'true')
  const fallback = setTimeout(() => void load(), patienceMs)
  stream = startStream({
    workspaceId,
    opened() {
      clearTimeout(fallback)
      clearTimeout(lostTimer)
      lostTimer = undefined
      const wasLost = notice.classList.contains('shown')
      void load().then(() => {
        if (wasLost && isLoaded) tell('Connected again', 1800)
      })
    },
    lost() {
      waiting ??= []
      lostTimer ??= setTimeout(() => tell('The simulator is out of reach. Trying again…'), calmMs)
    },
    bubble: (event) => whenRead(() => receive(event)),
    status: (event) => whenRead(() => progress(event)),
  })
}

/** @param {() => void} act */
function whenRead(act) {
  if (waiting) waiting.push(act)
  else act()
}

async function load() {
  const turn = ++reading
  waiting ??= []
  const answer = await readTable(workspaceId)
  if (turn !== reading) return
  const acts = waiting ?? []
  if (!answer.ok) {
    waiting = undefined
    if (!isLoaded) showBlank(answer.message)
    for (const act of acts) act()
    return
  }
  waiting = undefined
  const { data } = answer
  workspace = { ...data.workspace, business_name: data.workspace.business_name || 'The business' }
  workspaceId = workspace.workspace_id
  showWorkspaces(data.workspaces ?? [])
  merge(data.phones)
  tableElement.removeAttribute('aria-busy')
  isLoaded = true
  for (const act of acts) act()
}

/** What the simulator holds is true; phones that nobody wrote to yet are only here. @param {Phone[]} given */
function merge(given) {
  const before = phones
  phones = new Map()
  for (const phone of [...given, ...readOwn()]) {
    const key = keyOf(phone)
    if (phones.has(key)) continue
    const known = before.get(key)
    const messages = [...phone.messages].sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
    if (known) {
      const had = new Set(known.messages.map(({ id }) => id))
      const news = messages.filter(({ id, from }) => from === 'business' && !had.has(id)).length
      if (news > 0 && isLoaded && !isSeen(key)) unread.set(key, (unread.get(key) ?? 0) + news)
      known.messages = messages
      known.name = phone.name ?? known.name
      known.username = phone.username ?? known.username
      phones.set(key, known)
    } else phones.set(key, { ...phone, messages })
  }
  if (phones.size === 0) phones.set(keyOf(firstPerson), { ...firstPerson, messages: [] })
  tableElement.querySelector('.blank')?.remove()
  for (const [key, handset] of handsets) {
    if (!phones.has(key)) takeAway(key)
    else {
      handset.showBusiness()
      handset.update({})
    }
  }
  if (!isLoaded) for (const phone of newestFirst([...phones.values()]).slice(0, roomFor)) layDown(phone)
  drawPeople()
  showNote()
}

/** @param {import('./api.js').BubbleEvent} event */
function receive({ channel, phone: id, name, username, bubble }) {
  const key = keyOf({ channel, id })
  let phone = phones.get(key)
  if (!phone) {
    phone = { channel, id, name, username: username ?? null, messages: [] }
    phones.set(key, phone)
  }
  const at = phone.messages.findIndex((known) => known.id === bubble.id)
  if (at >= 0) phone.messages[at] = bubble
  else {
    // Nearly always the last; a late one takes its place in time.
    const after = phone.messages.findLastIndex((known) => Date.parse(known.at) <= Date.parse(bubble.at))
    phone.messages.splice(after + 1, 0, bubble)
  }
  const isNew = at < 0
  let handset = handsets.get(key)
  if (!handset && handsets.size < roomFor) {
    handset = layDown(phone)
    handset.element.classList.add('landing')
    drawPeople()
    if (!document.activeElement?.closest('.phone, .panel, dialog')) bring(key, {})
  } else handset?.update({ live: isNew })
  if (isNew && bubble.from === 'business') {
    handset?.hum()
    announce(`To ${titleOf(phone)}: ${summaryOf(bubble)}`)
    if (!isSeen(key)) {
      unread.set(key, (unread.get(key) ?? 0) + 1)
      if (!handset) drawPeople()
    }
  }
  people.mark(current, unread)
  showNote()
}

/** Who sees the page for the first time is told what lies here. */
function showNote() {
  const isNew = [...phones.values()].every(({ messages }) => messages.length === 0)
  const shown = tableElement.querySelector('.note')
  if (!isNew) shown?.remove()
  else if (!shown)
    tableElement.prepend(
      h(
        'div',
        { class: 'note' },
        h('h2', {}, 'These are your customers’ phones'),
        h(
          'p',
          {},
          'What you send through the API or the dashboard arrives here, as the customer sees it. Write back, tap a button, send a picture: it reaches you like the real thing.',
        ),
        h('p', {}, 'Nobody is real, and nothing leaves this machine.'),
      ),
    )
}

/**
 * A report may come late or twice: a message of the business never goes back. A customer's may: what the service did not
 * take is repeated until it does.
 * @param {import('./api.js').StatusEvent} event
 */
function progress({ channel, phone, id, status, error }) {
  const key = keyOf({ channel, id: phone })
  const bubble = phones.get(key)?.messages.find((known) => known.id === id)
  if (!bubble || (bubble.from === 'business' && (rank[status] ?? 0) < (rank[bubble.status] ?? 0))) return
  bubble.status = status
  bubble.error = error ?? null
  handsets.get(key)?.update({})
  if (status === 'failed') announce(`A message to ${titleOf(/** @type {Phone} */ (phones.get(key)))} failed`)
}

/** @param {Phone} phone */
function layDown(phone) {
  const key = keyOf(phone)
  const handset = startHandset(phone, {
    workspace: () => workspace,
    putAway: () => putAway(key),
    seen: () => pick(key),
    openPhone: (contact) =>
      addCustomer({
        channel: 'msgapp',
        id: contact.phone.replace(/[\s().-]/g, ''),
        name: contact.name || null,
        username: null,
      }),
  })
  handsets.set(key, handset)
  tableElement.append(handset.element)
  handset.update({})
  watcher.observe(handset.element)
  current ??= key
  return handset
}

/** @param {string} key */
function takeAway(key) {
  const handset = handsets.get(key)
  if (!handset) return
  watcher.unobserve(handset.element)
  handset.stop()
  handsets.delete(key)
  inView.delete(key)
  if (current === key) current = handsets.keys().next().value
}

/** @param {string} key */
function putAway(key) {
  const phone = phones.get(key)
  takeAway(key)
  if (phone && phone.messages.length === 0) {
    phones.delete(key)
    writeOwn()
  }
  drawPeople()
  if (phone) toast(phone.messages.length > 0 ? `${titleOf(phone)} is under “more”` : `${titleOf(phone)} is gone`)
  const next = current ? handsets.get(current) : undefined
  if (next) next.element.focus({ preventScroll: true })
  else place('#add').focus()
}

/** @param {import('./add.js').Customer} customer */
function addCustomer(customer) {
  const key = keyOf(customer)
  if (!phones.has(key)) {
    phones.set(key, { ...customer, messages: [] })
    writeOwn()
  }
  bring(key, { focus: true })
}

/**
 * Lay the phone down if it is not, and let it be seen.
 * @param {string} key
 * @param {{ focus?: boolean }} how
 */
function bring(key, { focus = false }) {
  const phone = phones.get(key)
  if (!phone) return
  if (!handsets.has(key)) {
    layDown(phone).element.classList.add('landing')
    drawPeople()
  }
  const handset = /** @type {Handset} */ (handsets.get(key))
  const { left, width } = handset.element.getBoundingClientRect()
  const around = tableElement.getBoundingClientRect()
  tableElement.scrollBy({
    left: left - around.left - (around.width - width) / 2,
    behavior: isStill() ? 'instant' : 'smooth',
  })
  pick(key)
  if (focus) {
    handset.element.focus({ preventScroll: true })
    // A keyboard on glass would cover the conversation.
    if (matchMedia('(hover: hover)').matches) handset.focus()
  }
}

/** @param {string} key */
function pick(key) {
  current = key
  for (const [other, { element }] of handsets) element.classList.toggle('current', other === key)
  markRead(key)
  rehearsal.turn()
}

/** @param {string} key */
function markRead(key) {
  if (unread.get(key)) unread.set(key, 0)
  people.mark(current, unread)
}

/** @param {string} key */
const isSeen = (key) => inView.has(key) && !document.hidden

/** @param {IntersectionObserverEntry[]} entries */
function watch(entries) {
  for (const { target, intersectionRatio } of entries) {
    const key = /** @type {HTMLElement} */ (target).dataset.key ?? ''
    if (intersectionRatio < 0.6) inView.delete(key)
    else {
      inView.add(key)
      if (!document.hidden) markRead(key)
    }
  }
  // With room for one phone, the one that is swiped to is the one in hand.
  const [only] = inView
  if (inView.size === 1 && only && only !== current) pick(only)
}

function drawPeople() {
  people.draw(
    [...handsets.values()].map(({ phone }) => phone),
    phones.size - handsets.size,
  )
  people.mark(current, unread)
}

/** The number that samples are written for. */
function currentNumber() {
  const phone = current ? phones.get(current) : undefined
  if (phone?.channel === 'msgapp') return addressOf(phone)
  return [...phones.values()].find(({ channel }) => channel === 'msgapp')?.id ?? firstPerson.id
}

/** @param {Phone[]} list */
function newestFirst(list) {
  const at = (/** @type {Phone} */ phone) => Date.parse(phone.messages.at(-1)?.at ?? '') || 0
  return list.sort((a, b) => at(b) - at(a))
}

const ownPlace = () => kept(`parley.phones.${workspaceId}`)

/** Phones added here that have no message yet. @returns {Phone[]} */
function readOwn() {
  try {
    const own = JSON.parse(ownPlace().read() ?? '[]')
    return Array.isArray(own) ? own.map((phone) => ({ ...phone, messages: [] })) : []
  } catch {
    return []
  }
}

function writeOwn() {
  const own = [...phones.values()].filter(({ messages }) => messages.length === 0)
  ownPlace().write(JSON.stringify(own.map(({ messages, ...phone }) => phone)))
}

/** @param {import('./api.js').Workspace[]} workspaces */
function showWorkspaces(workspaces) {
  place('#workspace').hidden = workspaces.length < 2
  place('#workspace-choice').replaceChildren(
    ...workspaces.map(({ workspace_id, business_name }) =>
      h('option', { value: workspace_id, selected: workspace_id === workspaceId }, business_name || workspace_id),
    ),
  )
}

function clearTable() {
  for (const key of [...handsets.keys()]) takeAway(key)
  phones = new Map()
  handsets = new Map()
  unread = new Map()
  inView = new Set()
  current = undefined
}

/** @param {string} reason */
function showBlank(reason) {
  tableElement.removeAttribute('aria-busy')
  tableElement.querySelector('.blank')?.remove()
  tableElement.append(
    h(
      'div',
      { class: 'blank', role: 'alert' },
      icon('failed'),
      h('h2', {}, 'The phones could not be fetched'),
      h('p', {}, `Reading them failed: ${reason}.`),
      h('button', { type: 'button', class: 'button primary', click: begin }, 'Try again'),
    ),
  )
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let tellTimer

/** @param {string} text @param {number} [forMs] */
function tell(text, forMs) {
  notice.textContent = text
  notice.classList.add('shown')
  notice.classList.toggle('good', forMs !== undefined)
  clearTimeout(tellTimer)
  if (forMs) tellTimer = setTimeout(() => notice.classList.remove('shown'), forMs)
}
