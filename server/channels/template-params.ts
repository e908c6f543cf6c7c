/** The values that a template needs, in the shape in which a caller sends them. Pure. */
import type { Channel, Template, TemplateParams } from './channel.ts'

/** The smallest `params` that fill the template, with placeholders as values. Null if the template cannot be sent. */
export function describeParams(channel: Pick<Channel, 'previewTemplate'>, template: Template): TemplateParams | null {
  let params: Params = {}
  // A value of the body may also serve a button. So buttons come last, and only those that still miss a value.
  for (const isButton of [false, true]) {
    const previewed = channel.previewTemplate?.(template, params as TemplateParams)
    if (!previewed?.ok) return null
    for (const path of previewed.missing.filter((each) => /(^|\.)buttonParams\./.test(each) === isButton)) {
      params = withPlaceholder(params, path)
    }
  }
  return params as TemplateParams
}

type Params = { [name: string]: unknown }

/** Adds the value at a path of `previewTemplate`: `headerText`, `body[1]`, `bodyNamed.time`, `cards[0].buttonParams.0`. */
function withPlaceholder(params: Params, path: string): Params {
  const [, card, inCard = ''] = /^cards\[(\d+)\]\.(.+)$/.exec(path) ?? []
  if (card !== undefined) {
    const cards = [...((params.cards as Params[] | undefined) ?? [])]
    for (let i = cards.length; i <= Number(card); i++) cards.push({})
    cards[Number(card)] = withPlaceholder(cards[Number(card)] ?? {}, inCard)
    return { ...params, cards }
  }
  const [, field = '', index, key] = /^(\w+)(?:\[(\d+)\]|\.(\w+))?$/.exec(path) ?? []
  if (index !== undefined) {
    const values = [...((params[field] as string[] | undefined) ?? [])]
    for (let i = values.length; i <= Number(index); i++) values.push(`{{${i + 1}}}`)
    return { ...params, [field]: values }
  }
  if (key !== undefined) {
    const placeholder = field === 'buttonParams' ? '{{1}}' : `{{${key}}}`
    return { ...params, [field]: { ...(params[field] as Params | undefined), [key]: placeholder } }
  }
  return { ...params, [field]: placeholders[field] ?? '{{1}}' }
}

const placeholders: Params = {
  headerMediaUrl: 'https://example.com/file',
  headerLocation: { latitude: '{{latitude}}', longitude: '{{longitude}}' },
}
