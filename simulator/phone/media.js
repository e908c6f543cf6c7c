// @ts-check
/**
 * Pictures, films, voice notes, documents, places and people in a message.
 *
 * Every frame has its size before its content is there, so nothing jumps when
 * it arrives. Sound and film are played only from our own origin (the page's
 * content security policy says so); others are opened in a new tab.
 */
import { h, icon, ownUrl, safeUrl, seeded, svg } from './dom.js'

/** @typedef {import('./api.js').Place} Place */
/** @typedef {{ url?: string | null | undefined, mime_type?: string | null | undefined, filename?: string | null | undefined }} Media */

/** @param {Media} media @param {string} [alt] */
export function picture(media, alt) {
  const src = media.url?.startsWith('blob:') || media.url?.startsWith('data:image/') ? media.url : safeUrl(media.url)
  if (!src) return missing('picture', 'Picture')
  const image = h('img', {
    src,
    alt: alt || media.filename || 'Picture',
    loading: 'lazy',
    decoding: 'async',
    referrerpolicy: 'no-referrer',
  })
  const button = h(
    'button',
    { type: 'button', class: 'picture', 'aria-label': `Enlarge ${alt || media.filename || 'the picture'}` },
    image,
  )
  button.addEventListener('click', () => enlarge(src, image.alt))
  image.addEventListener('error', () =>
    button.replaceWith(missing('picture', 'The picture could not be loaded', media.url)),
  )
  return button
}

/** @param {Media} media */
export function sticker(media) {
  const src = media.url?.startsWith('blob:') ? media.url : safeUrl(media.url)
  if (!src) return missing('picture', 'Sticker')
  const image = h('img', { class: 'sticker', src, alt: 'Sticker', referrerpolicy: 'no-referrer' })
  image.addEventListener('error', () =>
    image.replaceWith(missing('picture', 'The sticker could not be loaded', media.url)),
  )
  return image
}

/** @param {Media} media */
export function film(media) {
  const src = ownUrl(media.url)
  if (!src) return missing('video', 'Video', media.url)
  const video = h('video', {
    class: 'film',
    src,
    controls: true,
    preload: 'metadata',
    playsinline: true,
    'aria-label': media.filename || 'Video',
  })
  video.addEventListener('error', () => video.replaceWith(missing('video', 'The video could not be loaded', media.url)))
  return video
}

/** @param {Media} media */
export function file(media) {
  const href = safeUrl(media.url)
  const name = media.filename || 'Document'
  const kind = /\.(\w{1,5})$/.exec(name)?.[1] ?? media.mime_type?.split('/').pop() ?? 'file'
  const inside = [
    h('span', { class: 'file-kind', 'aria-hidden': 'true' }, icon('document'), h('span', {}, kind.slice(0, 4))),
    h('span', { class: 'file-name' }, h('bdi', {}, name), h('small', {}, media.mime_type || 'Document')),
  ]
  return href
    ? h('a', { class: 'file', href, target: '_blank', rel: 'noopener noreferrer' }, inside)
    : h('span', { class: 'file' }, inside)
}

/** What is not there, or may not be played here. @param {import('./dom.js').IconName} drawing @param {string} words @param {string | null} [url] */
function missing(drawing, words, url) {
  const href = safeUrl(url)
  const link = href && h('a', { href, target: '_blank', rel: 'noopener noreferrer' }, 'Open in a new tab')
  return h('span', { class: 'missing' }, icon(drawing), h('span', {}, words), link)
}

/** @param {string} src @param {string} alt */
function enlarge(src, alt) {
  const dialog = h('dialog', { class: 'lightbox', 'aria-label': alt })
  const close = h(
    'button',
    { type: 'button', class: 'lightbox-close', 'aria-label': 'Close', click: () => dialog.close() },
    icon('close'),
  )
  dialog.append(h('img', { src, alt, referrerpolicy: 'no-referrer' }), close)
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close()
  })
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
}

const bars = 34

/** The note that is heard now: a second one stops it. @type {HTMLAudioElement | undefined} */
let playing

/** @param {Media} media @param {string} id */
export function voiceNote(media, id) {
  const src = ownUrl(media.url)
  if (!src && media.url) return missing('microphone', 'Voice note', media.url)
  const random = seeded(id)
  const wave = h(
    'span',
    { class: 'wave', 'aria-hidden': 'true' },
    Array.from({ length: bars }, (_, at) => {
      const bar = h('i')
      const swell = Math.sin((at / bars) * Math.PI * (1.5 + random()))
      bar.style.height = `${Math.round(18 + 70 * Math.abs(swell) * random() + 12 * random())}%`
      return bar
    }),
  )
  const position = h('input', {
    type: 'range',
    min: '0',
    max: '1000',
    value: '0',
    step: '10',
    'aria-label': 'Position in the voice note',
    disabled: !src,
  })
  const time = h('span', { class: 'voice-time' }, '0:00')
  const button = h(
    'button',
    { type: 'button', class: 'voice-play', 'aria-label': 'Play the voice note', disabled: !src },
    icon('play'),
  )
  /** @type {HTMLAudioElement | undefined} */
  let sound
  const show = () => {
    const lengthSeconds = Number.isFinite(sound?.duration) ? (sound?.duration ?? 0) : 0
    const at = sound?.currentTime ?? 0
    const share = lengthSeconds ? at / lengthSeconds : 0
    position.value = String(Math.round(share * 1000))
    position.setAttribute('aria-valuetext', clock(at))
    time.textContent = clock(at || lengthSeconds)
    for (const [index, bar] of [...wave.children].entries())
      bar.classList.toggle('played', share > 0 && index / bars < share)
    const running = Boolean(sound && !sound.paused)
    button.replaceChildren(icon(running ? 'pause' : 'play'))
    button.setAttribute('aria-label', running ? 'Pause the voice note' : 'Play the voice note')
  }
  const prepare = () => {
    if (sound || !src) return sound
    sound = new Audio(src)
    for (const name of ['timeupdate', 'play', 'pause', 'ended', 'loadedmetadata', 'durationchange'])
      sound.addEventListener(name, show)
    sound.addEventListener('error', () => {
      button.disabled = true
      time.textContent = 'cannot be played'
    })
    return sound
  }
  button.addEventListener('click', () => {
    const note = prepare()
    if (!note) return
    if (!note.paused) return note.pause()
    if (playing !== note) playing?.pause()
    playing = note
    // A refusal to play is told by the error event.
    note.play().catch(() => {})
  })
  position.addEventListener('input', () => {
    const note = prepare()
    if (note && Number.isFinite(note.duration)) note.currentTime = (Number(position.value) / 1000) * note.duration
  })
  return h('span', { class: 'voice' }, button, h('span', { class: 'voice-wave' }, wave, position), time)
}

/** @param {number} seconds */
export const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`

/** A place on a map that was never surveyed: streets drawn from its coordinates. @param {Place} where */
export function mapCard(where) {
  const latitude = Number(where.latitude)
  const longitude = Number(where.longitude)
  const known = Number.isFinite(latitude) && Number.isFinite(longitude)
  const href = known
    ? `https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=16/${latitude}/${longitude}`
    : undefined
  const coordinates = known ? `${latitude.toFixed(4)}, ${longitude.toFixed(4)}` : ''
  return h(
    'span',
    { class: 'place' },
    drawMap(`${latitude} ${longitude}`),
    h(
      'span',
      { class: 'place-words' },
      h('strong', { dir: 'auto' }, where.name || 'Location'),
      where.address && h('span', { dir: 'auto' }, where.address),
      href
        ? h(
            'a',
            { href, target: '_blank', rel: 'noopener noreferrer' },
            coordinates,
            h('span', { class: 'offscreen' }, ' (opens a map)'),
          )
        : h('span', {}, coordinates),
    ),
  )
}

/** @param {string} seed */
function drawMap(seed) {
  const random = seeded(seed)
  const angle = random() * 50 - 25
  const streets = svg('g', { transform: `rotate(${angle.toFixed(1)} 140 60)` })
  for (let at = -60; at < 340; at += 26 + random() * 26)
    streets.append(svg('path', { class: random() > 0.75 ? 'avenue' : 'street', d: `M${at.toFixed()} -120V240` }))
  for (let at = -60; at < 200; at += 22 + random() * 20)
    streets.append(svg('path', { class: random() > 0.8 ? 'avenue' : 'street', d: `M-120 ${at.toFixed()}H400` }))
  const park = svg('rect', {
    class: 'park',
    x: (random() * 160).toFixed(),
    y: (random() * 50).toFixed(),
    width: 76,
    height: 52,
    rx: 6,
    transform: `rotate(${angle.toFixed(1)} 140 60)`,
  })
  const from = random() * 120
  const river = svg('path', {
    class: 'river',
    d: `M-10 ${from.toFixed()}C70 ${(from - 60).toFixed()} 170 ${(from + 70).toFixed()} 290 ${(120 - from).toFixed()}`,
  })
  const pin = svg(
    'g',
    { class: 'pin', transform: 'translate(140 62)' },
    svg('ellipse', { cx: 0, cy: 2, rx: 8, ry: 3 }),
    svg('path', { d: 'M0 0s-12-13-12-22a12 12 0 1 1 24 0c0 9-12 22-12 22z' }),
    svg('circle', { cx: 0, cy: -22, r: 4.5 }),
  )
  return svg(
    'svg',
    { class: 'map', viewBox: '0 0 280 120', preserveAspectRatio: 'xMidYMid slice', 'aria-hidden': 'true' },
    svg('rect', { class: 'land', width: 280, height: 120 }),
    river,
    park,
    streets,
    pin,
  )
}

/**
 * @param {{ name: string, phone: string }[]} contacts
 * @param {(contact: { name: string, phone: string }) => void} open
 */
export function contactCards(contacts, open) {
  return h(
    'span',
    { class: 'contacts' },
    contacts.map((contact) =>
      h(
        'span',
        { class: 'contact' },
        h('span', { class: 'contact-face', 'aria-hidden': 'true' }, icon('person')),
        h(
          'span',
          { class: 'contact-words' },
          h('strong', { dir: 'auto' }, contact.name || 'Somebody'),
          h('span', {}, contact.phone),
        ),
        contact.phone &&
          h(
            'button',
            {
              type: 'button',
              class: 'contact-open',
              'aria-label': `Open the phone of ${contact.name || contact.phone}`,
              click: () => open(contact),
            },
            'Open',
          ),
      ),
    ),
  )
}
