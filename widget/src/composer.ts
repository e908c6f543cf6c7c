/**
 * The message form: Enter sends, Shift+Enter inserts a line break. If the site asks for them, the first message includes the
 * visitor's name and email.
 *
 * The form sends on click and keydown, not on submit: a sandboxed page may not submit forms.
 */
import type { Settings } from './api.ts'
import { element, icon, setAttribute } from './dom.ts'
import type { Words } from './words.ts'

type Details = { name: string; email: string }
export type Composer = {
  root: HTMLElement
  /** Sends files, from a drop anywhere on the panel. */
  sendFiles(files: Iterable<File>): void
  /** Focuses the name if the form asks for details, else the message. */
  focus(): void
  render(options: { asksDetails: boolean; isOffline: boolean }): void
}

type ComposerOptions = {
  words: Words
  askDetails: Settings['ask_details']
  onSend: (text: string, details?: Details) => void
  onFile: (file: File, details?: Details) => void
  /** The text of the message field at first. */
  draft: string
  onInput: (draft: string) => void
}

const maxTextLength = 4096
const maxFileBytes = 10 * 1024 * 1024
/** The service checks the content; this list is for the file dialog. */
const acceptedFiles = 'image/*,video/mp4,audio/*,.pdf,.txt,.csv,.docx,.xlsx,.pptx,.odt,.ods'
const maxHeightPx = 120

export function createComposer({ words, askDetails, onSend, onFile, draft, onInput }: ComposerOptions): Composer {
  const required = askDetails === 'required'
  const name = element('input', {
    ...{ type: 'text', autocomplete: 'name', maxlength: '200', pattern: '.*\\S.*', required },
  })
  const email = element('input', {
    ...{ type: 'email', autocomplete: 'email', maxlength: '320', dir: 'ltr', required },
  })
  const label = (text: string) => (askDetails === 'optional' ? words.optional(text) : text)
  const details = element(
    'fieldset',
    { class: 'details', hidden: true },
    element('legend', {}, words.details),
    element('label', {}, label(words.name), name),
    element('label', {}, label(words.email), email),
  )
  const offline = element('p', { class: 'offline', role: 'status' })
  const text = element('textarea', {
    ...{ rows: '1', maxlength: String(maxTextLength), dir: 'auto', enterkeyhint: 'send' },
    ...{ placeholder: words.placeholder, 'aria-label': words.placeholder.replace('…', '') },
  })
  const send = element('button', { type: 'button', class: 'send', 'aria-label': words.send }, icon('arrow-up'))
  const picker = element('input', { type: 'file', multiple: true, hidden: true, accept: acceptedFiles })
  const attach = element('button', { type: 'button', class: 'send', 'aria-label': words.attach }, icon('paperclip'))
  const root = element(
    'form',
    { class: 'composer' },
    ...[offline, details, element('div', { class: 'line' }, picker, attach, text, send)],
  )
  let fileNotice = ''

  const resize = () => {
    text.style.height = 'auto'
    const borderPx = text.offsetHeight - text.clientHeight
    text.style.height = `${Math.min(maxHeightPx, text.scrollHeight + borderPx)}px`
    setAttribute(send, 'data-ready', !!text.value.trim())
  }
  text.value = draft
  const change = () => {
    resize()
    onInput(text.value)
  }
  text.addEventListener('input', change)
  const submit = () => {
    const message = text.value.trim()
    if (!message) return text.focus()
    if (!root.reportValidity()) return
    onSend(message, readDetails())
    text.value = ''
    change()
    text.focus()
  }
  const sendFiles = (files: Iterable<File>) => {
    const all = [...files]
    if (all.length === 0 || !root.reportValidity()) return
    const sendable = all.filter(({ size }) => size <= maxFileBytes)
    fileNotice = sendable.length < all.length ? words.tooLarge : ''
    offline.textContent = fileNotice
    for (const file of sendable) onFile(file, readDetails())
  }
  const readDetails = () => (details.hidden ? undefined : { name: name.value.trim(), email: email.value.trim() })
  attach.addEventListener('click', () => picker.click())
  picker.addEventListener('change', () => {
    sendFiles(picker.files ?? [])
    picker.value = ''
    text.focus()
  })
  text.addEventListener('paste', (event) => {
    const { files = [] } = event.clipboardData ?? {}
    if (files.length === 0) return
    event.preventDefault()
    sendFiles(files)
  })
  send.addEventListener('click', submit)
  const fields: HTMLElement[] = [name, email, text]
  for (const field of fields) {
    field.addEventListener('keydown', (event) => {
      // Enter during input-method composition selects a candidate. Safari reports composition only as keyCode 229.
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229) return
      event.preventDefault()
      submit()
    })
  }
  root.addEventListener('submit', (event) => event.preventDefault())
  return {
    root,
    sendFiles,
    focus() {
      if (details.hidden) text.focus()
      else name.focus()
    },
    render({ asksDetails, isOffline }) {
      details.hidden = !asksDetails
      // A hidden required field would still fail the form's validation.
      details.disabled = !asksDetails
      const notice = isOffline ? words.offline : fileNotice
      if (offline.textContent !== notice) offline.textContent = notice
      // The field had no height before it was shown.
      resize()
    },
  }
}
