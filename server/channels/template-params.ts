/** The values that a template needs, in the shape in which a caller sends them. Pure. */
import type { Channel, Template, TemplateParams } from './channel.ts'

/** The smallest `params` that fill the template, with placeholders as values. Null if the template cannot be sent. */
export function describeParams(channel: Pick<Channel, 'previewTemplate'>, template: Template): TemplateParams | null {
  const params: Params = {}
  // A value of the body may also serve a button. So buttons come last, and only those that still miss a value.
  for (const isButton of [false, true]) {
    const previewed = channel.previewTemplate?.(template, params as TemplateParams)
    if (!previewed?.ok) return null
    for (const path of previewed.missing.filter((each) => /(^|\.)buttonParams\./.test(each) === isButton)) {
      addPlaceholder(params, path)
    }
  }
  return params as TemplateParams
}

type Params = { [name: string]: unknown }

/** Adds the value at a path of `previewTemplate`: `headerText`, `body[1]`, `bodyNamed.time`, `cards[0].buttonParams.0`. */
function addPlaceholder(params: Params, path: string): void {
  const [, card, inCard = ''] = /^cards\[(\d+)\]\.(.+)$/.exec(path) ?? []
  if (card !== undefined) {
    params.cards ??= []
    const cards = params.cards as Params[]
    while (cards.length <= Number(card)) cards.push({})
    addPlaceholder(cards[Number(card)] ?? {}, inCard)
    return
  }
  const [, field = '', index, key] = /^(\w+)(?:\[(\d+)\]|\.(\w+))?$/.exec(path) ?? []
  if (index !== undefined) {
    params[field] ??= []
    const values = params[field] as string[]
    while (values.length <= Number(index)) values.push(`{{${values.length + 1}}}`)
  } else if (key !== undefined) {
    params[field] ??= {}
    const value = field === 'buttonParams' ? '{{1}}' : `{{${key}}}`
    // An assignment to `__proto__` would add no field.
    Object.defineProperty(params[field], key, { value, enumerable: true, configurable: true, writable: true })
  } else params[field] = placeholders[field] ?? '{{1}}'
}

const placeholders: Params = {
  headerMediaUrl: 'https://example.com/file',
  headerLocation: { latitude: '{{latitude}}', longitude: '{{longitude}}' },
}
