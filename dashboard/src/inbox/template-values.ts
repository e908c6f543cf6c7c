/**
 * The values a template needs. The service names those that are missing
 * (`body[0]`, `bodyNamed.time`, `cards[1].headerMediaUrl`); here they become
 * fields, and the fields become what is sent. Pure.
 */
import type { InputOf } from '../lib/api.ts'
import { words } from '../words/words.ts'

const { template } = words.inbox

export type TemplateSend = InputOf<'POST /templates/preview'>['body']
type Params = Exclude<NonNullable<TemplateSend['params']>, readonly string[]>
type Card = NonNullable<Params['cards']>[number]

export type Values = Readonly<Record<string, string>>

export type ValueField = { name: string; label: string; isMedia: boolean; isRequired: boolean }

export function toFields(missing: readonly string[]): ValueField[] {
  return missing.flatMap((name) => {
    const [, card, rest = name] = /^cards\[(\d+)\]\.(.+)$/.exec(name) ?? []
    const label = (text: string) => (card === undefined ? text : template.card(Number(card) + 1, text))
    const field = (text: string, more: Partial<ValueField> = {}): ValueField => ({
      name,
      label: label(text),
      isMedia: false,
      isRequired: true,
      ...more,
    })
    const [, number] = /^body\[(\d+)\]$/.exec(rest) ?? []
    if (number !== undefined) return field(template.body(Number(number) + 1))
    const [, called] = /^bodyNamed\.(.+)$/s.exec(rest) ?? []
    if (called !== undefined) return field(template.named(called))
    const [, button] = /^buttonParams\.(\d+)$/.exec(rest) ?? []
    if (button !== undefined) return field(template.button(Number(button) + 1))
    if (rest === 'headerMediaUrl') return field(template.headerMedia, { isMedia: true })
    if (rest === 'headerLocation') {
      return [
        field(template.latitude, { name: `${name}.latitude` }),
        field(template.longitude, { name: `${name}.longitude` }),
        field(template.place, { name: `${name}.name`, isRequired: false }),
        field(template.address, { name: `${name}.address`, isRequired: false }),
      ]
    }
    return field(rest === 'headerText' ? template.headerText : rest)
  })
}

export function toParams(values: Values): Params {
  const params: Params = {}
  const cards: Card[] = []
  const location: Record<string, string> = {}
  for (const [name, value] of Object.entries(values)) {
    if (!value) continue
    const [, number, rest = name] = /^cards\[(\d+)\]\.(.+)$/.exec(name) ?? []
    const part = number === undefined ? params : cardAt(cards, Number(number))
    const [, place] = /^body\[(\d+)\]$/.exec(rest) ?? []
    const [, called] = /^bodyNamed\.(.+)$/s.exec(rest) ?? []
    const [, button] = /^buttonParams\.(\d+)$/.exec(rest) ?? []
    const [, of] = /^headerLocation\.(\w+)$/.exec(rest) ?? []
    if (place !== undefined) part.body = withItem(part.body ?? [], Number(place), value)
    else if (called !== undefined) part.bodyNamed = { ...part.bodyNamed, [called]: value }
    else if (button !== undefined) part.buttonParams = { ...part.buttonParams, [button]: value }
    else if (of !== undefined) location[of] = value
    else if (rest === 'headerMediaUrl') part.headerMediaUrl = value
    else if (rest === 'headerText') params.headerText = value
  }
  const { latitude = '', longitude = '', ...more } = location
  if (latitude || longitude) params.headerLocation = { latitude, longitude, ...more }
  if (cards.length > 0) params.cards = cards
  return params
}

function cardAt(cards: Card[], place: number): Card {
  while (cards.length <= place) cards.push({})
  return cards[place] ?? {}
}

const withItem = (items: readonly string[], place: number, value: string): string[] =>
  Array.from({ length: Math.max(items.length, place + 1) }, (_, i) => (i === place ? value : (items[i] ?? '')))
