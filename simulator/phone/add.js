// @ts-check
/** "Add a customer": a phone for somebody who has not written yet. */
import { h, icon, iconButton, newId } from './dom.js'
import { randomPerson } from './samples.js'

/** @typedef {{ channel: 'msgapp' | 'social', id: string, name: string | null, username: string | null }} Customer */

/** @param {(customer: Customer) => void} add */
export function openAdd(add) {
  const titleId = newId()
  let person = randomPerson()
  const channel = (
    /** @type {string} */ value,
    /** @type {string} */ title,
    /** @type {string} */ by,
    checked = false,
  ) =>
    h(
      'label',
      { class: 'choice', 'data-channel': value },
      h('input', { type: 'radio', name: 'channel', value, checked }),
      h('span', { class: 'choice-words' }, h('strong', {}, title), h('small', {}, by)),
    )
  const number = field(
    'Number',
    { name: 'number', type: 'tel', inputmode: 'tel', placeholder: '+14155550100' },
    'With its country code, starting with +.',
  )
  const username = field('Username', { name: 'username', placeholder: 'ann.okafor', autocapitalize: 'none' })
  const userId = field(
    'User id',
    { name: 'user_id', inputmode: 'numeric' },
    'How the channel names this person; digits.',
  )
  const name = field('Name', { name: 'name' })
  const choices = h(
    'fieldset',
    { class: 'choices' },
    h('legend', {}, 'Channel'),
    channel('msgapp', 'Messages', 'by phone number', true),
    channel('social', 'Social', 'by user id'),
  )
  const form = h(
    'form',
    { class: 'sheet-body', novalidate: true, autocomplete: 'off' },
    choices,
    number.element,
    userId.element,
    username.element,
    name.element,
    h(
      'footer',
      {},
      h(
        'button',
        {
          type: 'button',
          class: 'button',
          click: () => {
            person = randomPerson()
            fill()
          },
        },
        icon('shuffle'),
        'Somebody else',
      ),
      h('button', { type: 'submit', class: 'button primary' }, 'Put on the table'),
    ),
  )
  const dialog = h(
    'dialog',
    { class: 'sheet', 'aria-labelledby': titleId },
    h(
      'header',
      {},
      h('h2', { id: titleId }, 'Add a customer'),
      iconButton('close', 'Close', () => dialog.close()),
    ),
    form,
  )
  const isSocial = () => new FormData(form).get('channel') === 'social'
  const fill = () => {
    number.input.value = person.number
    username.input.value = person.username
    userId.input.value = person.userId
    name.input.value = person.name
    for (const one of [number, username, userId]) one.complain('')
  }
  const choose = () => {
    number.element.hidden = isSocial()
    username.element.hidden = !isSocial()
    userId.element.hidden = !isSocial()
  }
  // Closing gives the focus back to where it was; the new phone takes it after that.
  const done = (/** @type {Customer} */ customer) => {
    dialog.close()
    add(customer)
  }
  choices.addEventListener('change', choose)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const given = { name: name.input.value.trim() || null }
    if (isSocial()) {
      const id = userId.input.value.trim()
      userId.complain(/^[\w.-]{1,64}$/.test(id) ? '' : 'Letters and digits, without spaces.')
      if (userId.input.ariaInvalid === 'true') return userId.input.focus()
      done({ ...given, channel: 'social', id, username: username.input.value.trim().replace(/^@/, '') || null })
    } else {
      const id = number.input.value.replace(/[\s().-]/g, '')
      number.complain(/^\+[1-9]\d{6,14}$/.test(id) ? '' : 'A + and 7 to 15 digits, such as +14155550100.')
      if (number.input.ariaInvalid === 'true') return number.input.focus()
      done({ ...given, channel: 'msgapp', id, username: null })
    }
  })
  dialog.addEventListener('close', () => dialog.remove())
  fill()
  choose()
  document.body.append(dialog)
  dialog.showModal()
  number.input.focus()
  number.input.select()
}

/**
 * @param {string} label
 * @param {Record<string, unknown>} attributes
 * @param {string} [help]
 */
export function field(label, attributes, help) {
  const id = newId()
  const helpId = newId()
  const input = h('input', { type: 'text', id, spellcheck: 'false', 'aria-describedby': helpId, ...attributes })
  const note = h('small', { id: helpId, class: 'help' }, help ?? '')
  return {
    element: h('div', { class: 'field' }, h('label', { for: id }, label), input, note),
    input,
    /** @param {string} fault */
    complain(fault) {
      input.ariaInvalid = fault ? 'true' : 'false'
      note.classList.toggle('fault', Boolean(fault))
      note.textContent = fault || help || ''
    },
  }
}
