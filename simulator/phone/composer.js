// @ts-check
/**
 * Where the customer writes: words, a quote, a file with a caption, a voice
 * note, a place. It keeps what was not sent.
 */
import { h, icon, iconButton, openMenu, toast } from './dom.js'
import { clock } from './media.js'
import { summaryOf } from './message.js'
import { places } from './samples.js'

/** @typedef {import('./api.js').Bubble} Bubble */
/**
 * What the customer sends; `file` is uploaded first.
 * @typedef {{ type: string, text?: string, file?: File, media?: Record<string, string>, location?: import('./api.js').Place, reply_to?: string, button?: { id: string, title: string } }} Outgoing
 */

/** What a voice note may be, best first: the channels speak ogg. */
const soundTypes = ['audio/ogg;codecs=opus', 'audio/mp4', 'audio/webm;codecs=opus']
const longestNoteSeconds = 120

/** @param {{ label: string, hasPlaces: boolean, send: (message: Outgoing) => void, whoWrote: (bubble: Bubble) => string }} about */
export function startComposer({ label, hasPlaces, send, whoWrote }) {
  /** @type {Bubble | undefined} */
  let quoted
  /** @type {{ file: File, url: string } | undefined} */
  let attached
  /** @type {{ cancel: () => void } | undefined} */
  let recording

  const quoteBox = h('div', { class: 'composer-extra', hidden: true })
  const fileBox = h('div', { class: 'composer-extra', hidden: true })
  const words = h('textarea', {
    rows: '1',
    dir: 'auto',
    placeholder: 'Write back',
    'aria-label': `Write as ${label}`,
    enterkeyhint: 'send',
    autocomplete: 'off',
  })
  const picker = h('input', {
    type: 'file',
    class: 'offscreen',
    tabindex: '-1',
    'aria-hidden': 'true',
    'aria-label': 'A picture or file to send',
  })
  const more = iconButton('plus', 'Send something else', () => openAttachments(), {
    class: 'icon-button round',
    'aria-haspopup': 'menu',
    'aria-expanded': 'false',
  })
  const sendButton = h(
    'button',
    { type: 'submit', class: 'icon-button send', 'aria-label': 'Send', title: 'Send', hidden: true },
    icon('send'),
  )
  const recordButton = iconButton('microphone', 'Record a voice note', () => record(), { class: 'icon-button round' })
  const row = h('div', { class: 'composer-row' }, more, words, recordButton, sendButton)
  const recordingRow = h('div', { class: 'composer-row recording', hidden: true })
  const form = h(
    'form',
    { class: 'composer', 'aria-label': `Write as ${label}`, novalidate: true },
    quoteBox,
    fileBox,
    row,
    recordingRow,
    picker,
  )

  const fit = () => {
    const ready = words.value.trim() !== '' || attached !== undefined
    sendButton.hidden = !ready
    recordButton.hidden = ready
    words.style.height = 'auto'
    if (words.value) words.style.height = `${Math.min(words.scrollHeight, 120)}px`
    else words.style.height = ''
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const text = words.value.trim()
    if (!text && !attached) return
    const base = { ...(text ? { text } : {}), ...replyTo() }
    send(attached ? { ...base, type: kindOf(attached.file), file: attached.file } : { ...base, type: 'text' })
    words.value = ''
    attach(undefined)
    quote(undefined)
    words.focus()
  })
  words.addEventListener('input', fit)
  words.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && (quoted || attached)) {
      quote(undefined)
      attach(undefined)
    }
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    form.requestSubmit()
  })
  words.addEventListener('paste', (event) => {
    const [pasted] = event.clipboardData?.files ?? []
    if (!pasted) return
    event.preventDefault()
    attach(pasted)
  })
  picker.addEventListener('change', () => {
    if (picker.files?.[0]) attach(picker.files[0])
    picker.value = ''
  })

  const replyTo = () => (quoted ? { reply_to: quoted.id } : {})

  /** @param {Bubble | undefined} bubble */
  function quote(bubble) {
    quoted = bubble
    quoteBox.hidden = !bubble
    quoteBox.replaceChildren(
      ...(bubble
        ? [
            h(
              'span',
              { class: 'composer-quote' },
              h('strong', {}, whoWrote(bubble)),
              h('span', { dir: 'auto' }, summaryOf(bubble)),
            ),
            iconButton('close', 'Do not quote', () => {
              quote(undefined)
              words.focus()
            }),
          ]
        : []),
    )
    if (bubble) words.focus()
  }

  /** @param {File | undefined} file */
  function attach(file) {
    if (attached) URL.revokeObjectURL(attached.url)
    attached = file && { file, url: URL.createObjectURL(file) }
    fileBox.hidden = !attached
    fileBox.replaceChildren(
      ...(attached
        ? [
            attached.file.type.startsWith('image/')
              ? h('img', { class: 'thumbnail', src: attached.url, alt: '' })
              : h('span', { class: 'thumbnail' }, icon('document')),
            h(
              'span',
              { class: 'composer-file' },
              h('strong', {}, attached.file.name),
              h('span', {}, sizeOf(attached.file.size)),
            ),
            iconButton('close', 'Do not send this file', () => {
              attach(undefined)
              words.focus()
            }),
          ]
        : []),
    )
    fit()
    if (attached) words.focus()
  }

  function openAttachments() {
    openMenu(more, 'Send something else', 'attachments', (close) => {
      /** @param {import('./dom.js').IconName} drawing @param {string} title @param {() => void} act */
      const item = (drawing, title, act) =>
        h(
          'button',
          {
            type: 'button',
            role: 'menuitem',
            click: () => {
              close()
              act()
            },
          },
          icon(drawing),
          title,
        )
      return [
        item('picture', 'Picture or file', () => picker.click()),
        item('microphone', 'Made-up voice note', () => sendMadeUpNote()),
        hasPlaces && h('span', { class: 'menu-title', role: 'presentation' }, 'Location'),
        ...(hasPlaces ? places : []).map((where) =>
          item('pin', where.name, () => {
            send({ type: 'location', location: where, ...replyTo() })
            quote(undefined)
          }),
        ),
      ]
    })
  }

  function sendMadeUpNote() {
    send({ type: 'audio', media: { mime_type: 'audio/ogg' }, ...replyTo() })
    quote(undefined)
  }

  /** With a microphone one is recorded; without one the simulator makes a note up. */
  async function record() {
    const mimeType = soundTypes.find((type) => globalThis.MediaRecorder?.isTypeSupported(type))
    let stream
    try {
      if (!mimeType) throw new Error('no recorder')
      stream = await navigator.mediaDevices.getUserMedia({ audio: true })
    } catch {
      toast('No microphone here: sending a made-up voice note')
      return sendMadeUpNote()
    }
    const recorder = new MediaRecorder(stream, { mimeType })
    /** @type {Blob[]} */
    const pieces = []
    const time = h('span', { class: 'recording-time', role: 'timer', 'aria-label': 'Recorded' }, '0:00')
    const startedAt = performance.now()
    const timer = setInterval(() => {
      const seconds = (performance.now() - startedAt) / 1000
      time.textContent = clock(seconds)
      if (seconds >= longestNoteSeconds) end(true)
    }, 250)
    /** @param {boolean} wanted */
    const end = (wanted) => {
      if (!recording) return
      recording = undefined
      clearInterval(timer)
      recorder.addEventListener('stop', () => {
        for (const track of stream.getTracks()) track.stop()
        const type = mimeType.split(';')[0] ?? mimeType
        const name = `voice-note.${type.split('/')[1]}`
        if (wanted && pieces.length > 0) send({ type: 'audio', file: new File(pieces, name, { type }), ...replyTo() })
        quote(undefined)
      })
      recorder.stop()
      recordingRow.hidden = true
      row.hidden = false
      recordButton.focus()
    }
    recorder.addEventListener('dataavailable', (event) => pieces.push(event.data))
    recorder.start()
    recording = { cancel: () => end(false) }
    const done = iconButton('send', 'Send the voice note', () => end(true), { class: 'icon-button send' })
    recordingRow.replaceChildren(
      iconButton('bin', 'Throw the voice note away', () => end(false), { class: 'icon-button round' }),
      h('span', { class: 'recording-state' }, h('i', { class: 'recording-light' }), 'Recording', time),
      done,
    )
    row.hidden = true
    recordingRow.hidden = false
    done.focus()
  }

  return {
    element: form,
    quote,
    attach,
    focus: () => words.focus(),
    stop() {
      recording?.cancel()
      attach(undefined)
    },
  }
}

/** @param {File} file */
function kindOf({ type }) {
  const kind = type.split('/')[0] ?? ''
  return ['image', 'video', 'audio'].includes(kind) ? kind : 'document'
}

/** @param {number} bytes */
const sizeOf = (bytes) =>
  bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1000))} kB` : `${(bytes / 1e6).toFixed(1)} MB`
