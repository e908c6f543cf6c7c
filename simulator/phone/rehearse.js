// @ts-check
/** The panel beside the table: calls to try, numbers that misbehave, and faults of the channel to switch on. */
import { field } from './add.js'
import { addFault, clearFaults, listFaults } from './api.js'
import { copy, h, icon, iconButton, newId, toast } from './dom.js'
import { calls, faultModes, magicNumbers } from './samples.js'

/** @typedef {import('./api.js').Fault} Fault */

/**
 * @param {{
 *   panel: HTMLElement, button: HTMLElement, count: HTMLElement,
 *   currentNumber: () => string, numbers: () => string[], openPhone: (contact: { name: string, phone: string }) => void
 * }} about
 */
export function startRehearsal({ panel, button, count, currentNumber, numbers, openPhone }) {
  const active = h('ul', { class: 'faults', 'aria-label': 'Faults switched on' })
  const clear = h(
    'button',
    { type: 'button', class: 'button small', hidden: true, click: clearAll },
    icon('bin'),
    'Clear all',
  )
  const recipient = h('strong', {}, '')

  panel.append(
    h(
      'header',
      {},
      h('h2', {}, 'Rehearse'),
      iconButton('close', 'Close', () => set(false)),
    ),
    h(
      'div',
      { class: 'panel-body' },
      section(
        'Calls to try',
        h(
          'p',
          { class: 'quiet' },
          'Copied for ',
          recipient,
          '. ',
          h('code', {}, '$KEY'),
          ' is the api_key in ',
          h('code', {}, 'data/demo.json'),
          '.',
        ),
        h(
          'ul',
          { class: 'rows' },
          calls.map(({ title, does, call }) =>
            h(
              'li',
              {},
              h('span', {}, h('strong', {}, title), h('small', {}, does)),
              iconButton('copy', `Copy the call: ${title}`, () => copy(call(currentNumber()), 'The call')),
            ),
          ),
        ),
      ),
      section(
        'Magic numbers',
        h(
          'p',
          { class: 'quiet' },
          'Whatever is sent to them ends the same way. Every other number: sent, delivered, read.',
        ),
        h(
          'ul',
          { class: 'rows' },
          magicNumbers.map(({ number, title, does, code }) =>
            h(
              'li',
              {},
              h(
                'span',
                {},
                h('strong', {}, title, code && h('code', {}, code)),
                h('small', {}, does),
                h('span', { class: 'number' }, number),
              ),
              iconButton('copy', `Copy ${number}`, () => copy(number, 'Number')),
              h(
                'button',
                {
                  type: 'button',
                  class: 'button small',
                  'aria-label': `Open a phone: ${title}, ${number}`,
                  click: () => {
                    if (matchMedia('(max-width: 60rem)').matches) set(false)
                    openPhone({ name: title, phone: number })
                  },
                },
                'Open',
              ),
            ),
          ),
        ),
      ),
      section(
        'Faults',
        h('p', { class: 'quiet' }, 'Make the channel misbehave, for one number or for all.'),
        faultForm(),
        active,
        clear,
      ),
    ),
  )

  function faultForm() {
    const modeId = newId()
    const does = h('small', { class: 'help', id: newId() })
    const list = h('datalist', { id: newId() })
    const mode = h(
      'select',
      { id: modeId, name: 'mode', 'aria-describedby': does.id },
      Object.entries(faultModes).map(([value, { title }]) => h('option', { value }, title)),
    )
    const to = field('Number', { placeholder: 'all', list: list.id, inputmode: 'tel' }, 'Empty: every number.')
    const code = field('Error code', { inputmode: 'numeric', placeholder: '131026' })
    const times = field('Times', { inputmode: 'numeric', placeholder: 'always' })
    const delay = field('Delay in ms', { inputmode: 'numeric', placeholder: 'none' })
    const form = h(
      'form',
      { class: 'fault-form', novalidate: true, autocomplete: 'off' },
      h('div', { class: 'field' }, h('label', { for: modeId }, 'What goes wrong'), mode, does),
      to.element,
      h('div', { class: 'fields' }, code.element, times.element, delay.element),
      list,
      h('button', { type: 'submit', class: 'button primary' }, 'Switch on'),
    )
    const show = () => {
      does.textContent = faultModes[mode.value]?.does ?? ''
      code.element.hidden = mode.value !== 'reject'
    }
    mode.addEventListener('change', show)
    to.input.addEventListener('focus', () =>
      list.replaceChildren(...numbers().map((number) => h('option', { value: number }))),
    )
    form.addEventListener('submit', async (event) => {
      event.preventDefault()
      let wrong = false
      const whole = (/** @type {ReturnType<typeof field>} */ one) => {
        const text = one.element.hidden ? '' : one.input.value.trim()
        const fine = /^\d*$/.test(text)
        one.complain(fine ? '' : 'A whole number.')
        if (!fine) wrong = true
        return text && fine ? Number(text) : undefined
      }
      const fault = {
        mode: mode.value,
        to: to.input.value.replace(/[\s().-]/g, '') || undefined,
        code: whole(code),
        count: whole(times),
        delay_ms: whole(delay),
      }
      if (wrong) return
      const answer = await addFault(/** @type {Fault} */ (fault))
      if (!answer.ok) return toast(`Not switched on: ${answer.message}`)
      toast(`${faultModes[fault.mode]?.title}: on`)
      await draw()
    })
    show()
    return form
  }

  async function draw() {
    const answer = await listFaults()
    const faults = answer.ok && Array.isArray(answer.data) ? answer.data : []
    clear.hidden = faults.length === 0
    count.hidden = faults.length === 0
    count.replaceChildren(String(faults.length), h('span', { class: 'offscreen' }, ' switched on'))
    active.replaceChildren(
      ...faults.map((fault) =>
        h(
          'li',
          {},
          h('strong', {}, faultModes[fault.mode]?.title ?? fault.mode),
          h(
            'small',
            {},
            [
              fault.to ? `to ${fault.to}` : 'for everybody',
              fault.code && `code ${fault.code}`,
              fault.count ? `${fault.count} more times` : 'until cleared',
              fault.delay_ms && `after ${fault.delay_ms} ms`,
            ]
              .filter(Boolean)
              .join(' · '),
          ),
        ),
      ),
    )
  }

  async function clearAll() {
    const answer = await clearFaults()
    toast(answer.ok ? 'Every fault is cleared' : `Not cleared: ${answer.message}`)
    await draw()
    panel.focus()
  }

  /** @param {boolean} open */
  function set(open) {
    panel.hidden = !open
    document.body.classList.toggle('with-panel', open)
    button.setAttribute('aria-expanded', String(open))
    if (!open) return button.focus()
    recipient.textContent = currentNumber()
    panel.focus()
    void draw()
  }

  button.addEventListener('click', () => set(Boolean(panel.hidden)))
  panel.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') set(false)
  })
  void draw()

  return {
    /** The phone in hand is another one. */
    turn() {
      recipient.textContent = currentNumber()
    },
  }
}

/** @param {string} title @param {...import('./dom.js').Child} children */
function section(title, ...children) {
  const id = newId()
  return h('section', { 'aria-labelledby': id }, h('h3', { id }, title), ...children)
}
