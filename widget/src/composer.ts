/**
 * Where a visitor writes: Enter sends, Shift and Enter makes a new line. The
 * first time, if the site wants it, with their name and e-mail. Nothing here
 * waits for the form to be submitted, which a page in a sandbox may not do.
 */
import { element, icon, set } from './dom.ts'
import type { Settings } from './service.ts'
import type { Words } from './words.ts'

type Details = { name: string; email: string }
export type Composer = {
  root: HTMLElement
  /** Where to begin: the first field, or the message. */
  focus(): void
  render(options: { asks: boolean; isOffline: boolean }): void
}

type Composing = { words: Words; wish: Settings['ask_details']; onSay: (text: string, details?: Details) => void }

const maxText = 4096
const tallestPixels = 120

export function createComposer({ words, wish, onSay }: Composing): Composer {
  const name = element('input', {
    ...{ type: 'text', autocomplete: 'name', maxlength: '200', pattern: '.*\\S.*' },
    required: wish === 'required',
  })
  const email = element('input', {
    ...{ type: 'email', autocomplete: 'email', maxlength: '320', dir: 'ltr' },
    required: wish === 'required',
  })
  const label = (text: string) => (wish === 'optional' ? words.optional(text) : text)
  const details = element(
    'fieldset',
    { class: 'details', hidden: true },
    element('legend', {}, words.details),
    element('label', {}, label(words.name), name),
    element('label', {}, label(words.email), email),
  )
  const offline = element('p', { class: 'offline', role: 'status' })
  const text = element('textarea', {
    ...{ rows: '1', maxlength: String(maxText), dir: 'auto', enterkeyhint: 'send' },
    ...{ placeholder: words.placeholder, 'aria-label': words.placeholder.replace('…', '') },
  })
  const send = element('button', { type: 'button', class: 'send', 'aria-label': words.send }, icon('send'))
  const root = element('form', { class: 'composer' }, offline, details, element('div', { class: 'line' }, text, send))

  const fit = () => {
    text.style.height = 'auto'
    // What it holds, and its edges.
    const wanted = text.scrollHeight + text.offsetHeight - text.clientHeight
    text.style.height = `${Math.min(tallestPixels, wanted)}px`
    set(send, 'data-ready', text.value.trim() !== '')
  }
  text.addEventListener('input', fit)
  const submit = () => {
    const written = text.value.trim()
    if (!written) return text.focus()
    if (!root.reportValidity()) return
    onSay(written, details.hidden ? undefined : { name: name.value.trim(), email: email.value.trim() })
    text.value = ''
    fit()
    text.focus()
  }
  send.addEventListener('click', submit)
  const fields: HTMLElement[] = [name, email, text]
  for (const field of fields) {
    field.addEventListener('keydown', (event) => {
      // Whoever chooses among words with Enter is not done yet. Safari says so by the old number alone.
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229) return
      event.preventDefault()
      submit()
    })
  }
  root.addEventListener('submit', (event) => event.preventDefault())
  return {
    root,
    focus() {
      if (details.hidden) text.focus()
      else name.focus()
    },
    render({ asks, isOffline }) {
      details.hidden = !asks
      // Hidden it would still keep the form from being sent.
      details.disabled = !asks
      const said = isOffline ? words.offline : ''
      if (offline.textContent !== said) offline.textContent = said
    },
  }
}
