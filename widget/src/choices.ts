/** Buttons, lists and links below a message. A tap sends the title as the visitor's message. */
import type { MessageContent } from './api.ts'
import { element, setAttribute } from './dom.ts'
import { toHref } from './links.ts'
import type { MessageView } from './view.ts'

export type Choice = { id: string; title: string; description?: string }
type Choices = { root: HTMLElement; render(message: MessageView): void }

/** After a tap the choices stay visible, with the chosen one marked. They stay focusable, so the focus is not lost. */
export function createChoices(content: MessageContent, onTap: (choice: Choice) => void): Choices | undefined {
  const { buttons = [], sections = [], button: label, text, url } = content.interactive ?? {}
  const controls = new Map<string, HTMLElement>()
  let isAnswered = false
  const toButton = (choice: Choice): HTMLElement => {
    const details = choice.description ? [element('small', { dir: 'auto' }, choice.description)] : []
    const control = element('button', { type: 'button', class: 'choice', dir: 'auto' }, choice.title, ...details)
    control.addEventListener('click', () => {
      if (!isAnswered) onTap(choice)
    })
    controls.set(choice.id, control)
    return control
  }
  const href = url && toHref(url)
  const parts = [
    ...buttons.map(toButton),
    ...(sections.length > 0 ? [toList(label ?? '', sections, toButton)] : []),
    ...(href ? [toLink(text ?? url, href)] : []),
  ]
  if (parts.length === 0) return undefined
  return {
    root: element('div', { class: 'choices' }, ...parts),
    render({ tappedId }) {
      isAnswered = tappedId !== undefined
      for (const [id, control] of controls) {
        setAttribute(control, 'aria-disabled', isAnswered ? 'true' : undefined)
        setAttribute(control, 'aria-pressed', id === tappedId ? 'true' : undefined)
      }
    },
  }
}

type Sections = NonNullable<NonNullable<MessageContent['interactive']>['sections']>

function toList(label: string, sections: Sections, toButton: (choice: Choice) => HTMLElement): HTMLElement {
  const groups = sections.map(({ title, rows }) =>
    element(
      'div',
      { role: 'group', 'aria-label': title },
      element('strong', { dir: 'auto' }, title),
      ...rows.map(toButton),
    ),
  )
  return element('details', {}, element('summary', { class: 'choice', dir: 'auto' }, label), ...groups)
}

const toLink = (text: string, href: string): HTMLElement =>
  element('a', { class: 'choice', href, target: '_blank', rel: 'noopener noreferrer nofollow', dir: 'auto' }, text)
