// @ts-check
/** A template as the customer sees it: header, words, footer, buttons, and cards to swipe. */
import { copy, h, icon, iconButton, isStill, safeUrl, toast } from './dom.js'
import { rich } from './format.js'
import { file, film, mapCard, picture } from './media.js'

/** @typedef {import('./api.js').Rendered} Rendered */
/** @typedef {import('./api.js').Button} Button */
/** @typedef {import('./api.js').Header} Header */
/** @typedef {{ marked: boolean, tap: (button: Button) => void }} Tapping */

/**
 * @param {Rendered} template
 * @param {Tapping} tapping
 */
export function templateParts({ header, body, footer, buttons, cards }, { marked, tap }) {
  const inside = [
    header && headerOf(header, marked),
    body && h('p', { class: 'text', dir: 'auto' }, rich(body, marked)),
    footer && h('p', { class: 'footer', dir: 'auto' }, footer),
  ].filter((part) => part instanceof Node)
  return {
    inside,
    buttons: buttons?.length ? buttonList(buttons, tap) : undefined,
    cards: cards?.length ? carousel(cards, { marked, tap }) : undefined,
  }
}

/** @param {Header} header @param {boolean} marked */
function headerOf(header, marked) {
  const media = { url: header.url, filename: header.filename }
  if (header.type === 'text') return h('p', { class: 'heading', dir: 'auto' }, rich(header.text ?? '', marked))
  if (header.type === 'image')
    return h('div', { class: 'header-media' }, picture(media, header.filename || 'Picture of this message'))
  if (header.type === 'video') return h('div', { class: 'header-media' }, film(media))
  if (header.type === 'document') return h('div', { class: 'header-media' }, file(media))
  if (header.type === 'location' && header.location)
    return h('div', { class: 'header-media' }, mapCard(header.location))
  return undefined
}

/** @param {Button[]} buttons @param {(button: Button) => void} tap */
function buttonList(buttons, tap) {
  return h(
    'div',
    { class: 'buttons' },
    buttons.map((button) => buttonOf(button, tap)),
  )
}

/** @param {Button} button @param {(button: Button) => void} tap */
function buttonOf(button, tap) {
  const words = h('span', { dir: 'auto' }, button.text)
  if (button.type === 'URL') {
    const href = safeUrl(button.url)
    return href
      ? h('a', { class: 'tap', href, target: '_blank', rel: 'noopener noreferrer', title: href }, icon('link'), words)
      : h(
          'button',
          { class: 'tap', type: 'button', disabled: true, title: 'Its address is not a web address' },
          icon('link'),
          words,
        )
  }
  if (button.type === 'COPY_CODE')
    return h(
      'button',
      {
        class: 'tap',
        type: 'button',
        title: button.code,
        click: () => copy(button.code ?? '', `Code ${button.code ?? ''}`),
      },
      icon('copy'),
      words,
    )
  if (button.type === 'PHONE_NUMBER')
    return h(
      'button',
      { class: 'tap', type: 'button', click: () => toast('A real phone would call now. This one only pretends.') },
      icon('call'),
      words,
    )
  return h(
    'button',
    { class: 'tap', type: 'button', 'data-reply': button.text, click: () => tap(button) },
    icon('reply'),
    words,
  )
}

/** @param {import('./api.js').Card[]} cards @param {Tapping} tapping */
function carousel(cards, { marked, tap }) {
  const slides = cards.map((card, at) =>
    h(
      'li',
      { class: 'card', 'aria-label': `Card ${at + 1} of ${cards.length}` },
      card.header && headerOf(card.header, marked),
      card.body && h('p', { class: 'text', dir: 'auto' }, rich(card.body, marked)),
      card.buttons?.length > 0 && buttonList(card.buttons, tap),
    ),
  )
  const strip = h('ul', { class: 'cards', tabindex: '0', 'aria-label': `${cards.length} cards` }, slides)
  const nearest = () => {
    const { left } = strip.getBoundingClientRect()
    const away = slides.map((slide) => Math.abs(slide.getBoundingClientRect().left - left))
    return strip.scrollLeft + strip.clientWidth >= strip.scrollWidth - 2
      ? slides.length - 1
      : away.indexOf(Math.min(...away))
  }
  /** @param {number} step */
  const go = (step) => {
    const slide = slides[Math.max(0, Math.min(slides.length - 1, nearest() + step))]
    if (slide) strip.scrollTo({ left: slide.offsetLeft - strip.offsetLeft, behavior: isStill() ? 'instant' : 'smooth' })
  }
  const back = iconButton('left', 'Previous card', () => go(-1), { class: 'turn back', disabled: true })
  const on = iconButton('right', 'Next card', () => go(1), { class: 'turn on', disabled: cards.length < 2 })
  const dots = h(
    'span',
    { class: 'dots', 'aria-hidden': 'true' },
    cards.map((_, at) => h('i', { class: at === 0 ? 'here' : '' })),
  )
  strip.addEventListener('scroll', () => {
    const at = nearest()
    back.disabled = at === 0
    on.disabled = at === slides.length - 1
    for (const [index, dot] of [...dots.children].entries()) dot.classList.toggle('here', index === at)
  })
  strip.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (!step || event.target !== strip) return
    event.preventDefault()
    event.stopPropagation()
    go(step)
  })
  return h('div', { class: 'carousel' }, strip, cards.length > 1 && h('div', { class: 'turns' }, back, dots, on))
}
