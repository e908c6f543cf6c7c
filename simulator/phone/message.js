// @ts-check
/**
 * One message: what it holds, when it came, how far it got, what was answered
 * or felt about it, and what can be done with it.
 *
 * The content is drawn once. Its status, reactions and place in a run of
 * messages change later without drawing it again, so a voice note goes on
 * playing and a row of cards stays where it was swiped to.
 */
import { h, icon, iconButton, openMenu } from './dom.js'
import { flat, isEmojiOnly, rich } from './format.js'
import { contactCards, file, film, mapCard, picture, sticker, voiceNote } from './media.js'
import { errorWords, reactions } from './samples.js'
import { templateParts } from './template.js'

/** @typedef {import('./api.js').Bubble} Bubble */
/** @typedef {import('./api.js').Button} Button */
/**
 * @typedef {{
 *   marked: boolean, businessName: () => string, find: (id: string) => Bubble | undefined,
 *   show: (id: string) => void, quote: (bubble: Bubble) => void, react: (bubble: Bubble, emoji: string) => void,
 *   tap: (bubble: Bubble, button: Button) => void, retry: (id: string) => void,
 *   openPhone: (contact: { name: string, phone: string }) => void
 * }} Doing
 */

const statusWords = {
  sending: 'Sending',
  accepted: 'Accepted, not sent yet',
  sent: 'Sent',
  delivered: 'Delivered',
  read: 'Read',
  failed: 'Failed',
}

/** A message in a few words, for quotes, lists and listeners. @param {Bubble} bubble */
export function summaryOf({ type, text, template, media, location, contacts }) {
  if (text) return flat(text)
  if (template?.body) return flat(template.body)
  const kinds = /** @type {Record<string, string>} */ ({
    image: 'Picture',
    video: 'Video',
    audio: 'Voice note',
    document: media?.filename || 'Document',
    sticker: 'Sticker',
    location: location?.name || 'Location',
    contacts: contacts?.[0]?.name || 'Contact',
    template: template?.name ?? 'Template',
  })
  return kinds[type] ?? 'Message'
}

/** Why it failed, in words: the service sends a text or the channel's own object. @param {unknown} error */
function failureOf(error) {
  const given = /** @type {Record<string, unknown>} */ (error !== null && typeof error === 'object' ? error : {})
  const raw = typeof error === 'string' ? error : [given.code, given.message ?? given.title].filter(Boolean).join(' ')
  const code = String(given.code ?? /\b1\d{5}\b/.exec(raw)?.[0] ?? '')
  return { words: errorWords[code] ?? (raw || 'The channel did not say why'), detail: errorWords[code] ? raw : '' }
}

/** @param {string} at */
const timeOf = (at) => new Date(at).toLocaleTimeString([], { hour: 'numeric', minute: '2-digit' })

/**
 * @param {Bubble} bubble
 * @param {Doing} doing
 */
export function drawMessage(bubble, doing) {
  const { id, from, type } = bubble
  const tick = h('span', { class: 'tick' })
  const meta = h('span', { class: 'meta' }, h('time', { datetime: bubble.at }, timeOf(bubble.at)), tick)
  const body = h('div', { class: 'bubble' })
  const felt = h('span', { class: 'felt' })
  const failure = h('div', { class: 'failure' })
  const parts = bubble.template
    ? templateParts(bubble.template, { marked: doing.marked, tap: (button) => doing.tap(bubble, button) })
    : undefined

  if (bubble.reply_to) body.append(drawQuote(bubble.reply_to, doing))
  body.append(...(parts ? parts.inside : contentOf(bubble, doing)), meta)
  if (parts?.buttons) body.append(parts.buttons)

  const reactButton = iconButton('react', 'React', () => openReactions(), {
    'aria-haspopup': 'menu',
    'aria-expanded': 'false',
  })
  const actions = h(
    'div',
    { class: 'actions', role: 'group', 'aria-label': 'Do with this message' },
    from === 'business' && reactButton,
    iconButton('reply', 'Quote', () => doing.quote(bubble)),
  )
  const isLocal = id.startsWith('local-')
  const bare = type === 'sticker' || (type === 'text' && !bubble.reply_to && isEmojiOnly(bubble.text ?? ''))
  const element = h(
    'li',
    { class: `message from-${from} type-${type}${bare ? ' bare' : ''}`, 'data-id': id, tabindex: '-1' },
    h('div', { class: 'bubble-row' }, body, felt, !isLocal && actions),
    parts?.cards,
    failure,
  )

  /** @type {Map<string, string>} */
  let feelings = new Map()
  function openReactions() {
    const own = feelings.get('customer')
    openMenu(reactButton, 'React with', 'reactions', (close) =>
      reactions.map((emoji) =>
        h(
          'button',
          {
            type: 'button',
            role: 'menuitemradio',
            'aria-checked': String(own === emoji),
            'aria-label': own === emoji ? `Take ${emoji} back` : emoji,
            click: () => {
              close()
              doing.react(bubble, own === emoji ? '' : emoji)
            },
          },
          emoji,
        ),
      ),
    )
  }
  if (from === 'business') listenForLongPress(body, openReactions)

  return {
    element,
    /** @param {Bubble['status']} status @param {unknown} error */
    setStatus(status, error) {
      element.dataset.status = status
      // A customer's own message shows only that it is on its way or was lost.
      const shown = from === 'business' || status === 'sending' || status === 'failed'
      const drawing = status === 'read' ? 'delivered' : status === 'sending' ? 'accepted' : status
      tick.className = `tick ${status}`
      tick.replaceChildren(...(shown ? [icon(drawing), h('span', { class: 'offscreen' }, statusWords[status])] : []))
      tick.title = shown ? statusWords[status] : ''
      if (status !== 'failed') return failure.replaceChildren()
      const { words, detail } = failureOf(error)
      failure.replaceChildren(
        h('p', {}, h('strong', {}, from === 'business' ? 'Not delivered. ' : 'Not sent. '), words),
        ...(detail ? [h('p', { class: 'failure-detail' }, detail)] : []),
        ...(isLocal
          ? [h('button', { type: 'button', class: 'retry', click: () => doing.retry(id) }, 'Try again')]
          : []),
      )
    },
    /** @param {Map<string, string>} given who feels what */
    setReactions(given) {
      feelings = given
      felt.replaceChildren(
        ...[...given].map(([who, emoji]) =>
          h(
            'span',
            { class: 'feeling' },
            emoji,
            h('span', { class: 'offscreen' }, ` from ${who === 'customer' ? 'the customer' : doing.businessName()}`),
          ),
        ),
      )
    },
    /** @param {Set<string>} titles the quick replies that were tapped */
    setTapped(titles) {
      for (const button of element.querySelectorAll('[data-reply]')) {
        const tapped = titles.has(button.getAttribute('data-reply') ?? '')
        if (tapped === button.classList.contains('tapped')) continue
        button.classList.toggle('tapped', tapped)
        button.querySelector('.icon')?.replaceWith(icon(tapped ? 'check' : 'reply'))
      }
    },
    /** @param {boolean} follows whether the same side wrote just before */
    setFollows(follows) {
      element.classList.toggle('follows', follows)
    },
  }
}

/** @param {Bubble} bubble @param {Doing} doing @returns {Node[]} */
function contentOf(bubble, { marked, openPhone }) {
  const { type, text, location, contacts } = bubble
  const media = bubble.media ?? { url: null }
  const words = text ? [h('p', { class: 'text', dir: 'auto' }, rich(text, marked))] : []
  if (type === 'image') return [h('div', { class: 'framed' }, picture(media, text ?? undefined)), ...words]
  if (type === 'video') return [h('div', { class: 'framed' }, film(media)), ...words]
  if (type === 'audio') return [voiceNote(media, bubble.id), ...words]
  if (type === 'document') return [file(media), ...words]
  if (type === 'sticker') return [sticker(media)]
  if (type === 'location' && location) return [h('div', { class: 'framed' }, mapCard(location))]
  if (type === 'contacts' && contacts) return [contactCards(contacts, openPhone)]
  return words.length > 0 ? words : [h('p', { class: 'text unsaid' }, 'This kind of message cannot be shown here.')]
}

/** @param {string} id @param {Doing} doing */
function drawQuote(id, { find, show, businessName }) {
  const quoted = find(id)
  const who = quoted ? (quoted.from === 'customer' ? 'You' : businessName()) : 'Earlier'
  return h(
    'button',
    {
      type: 'button',
      class: 'quote',
      'aria-label': `Show the quoted message of ${who}`,
      disabled: !quoted,
      click: () => show(id),
    },
    h('strong', {}, who),
    h('span', { dir: 'auto' }, quoted ? summaryOf(quoted) : 'A message that is no longer here'),
  )
}

/**
 * A finger that stays. The menu opens when it is lifted: opened earlier, the lifting would close it.
 * @param {HTMLElement} element
 * @param {() => void} held
 */
function listenForLongPress(element, held) {
  /** @type {{ x: number, y: number, since: number } | undefined} */
  let press
  element.addEventListener('pointerdown', (event) => {
    press = event.pointerType === 'mouse' ? undefined : { x: event.clientX, y: event.clientY, since: event.timeStamp }
  })
  element.addEventListener('pointermove', (event) => {
    if (press && Math.hypot(event.clientX - press.x, event.clientY - press.y) > 10) press = undefined
  })
  element.addEventListener('pointercancel', () => {
    press = undefined
  })
  element.addEventListener('pointerup', (event) => {
    if (press && event.timeStamp - press.since > 450) setTimeout(held)
    press = undefined
  })
  element.addEventListener('contextmenu', (event) => {
    if (press) event.preventDefault()
  })
}
