/** Status, quality and category of a template as the channel reported them, and the address of its own page. */
import { Badge, type Tone } from '../../../ui/badge.tsx'
import { words } from '../words/words.ts'
import type { Template } from './shape.ts'

const { templates } = words

const tones: Record<string, Tone> = {
  APPROVED: 'green',
  PENDING: 'amber',
  IN_APPEAL: 'amber',
  PAUSED: 'amber',
  REJECTED: 'red',
  DISABLED: 'red',
}

export const isUsable = ({ status }: Template): boolean => status === 'APPROVED'

export const statusWord = (status: string): string => templates.statuses[status] ?? inWords(status)

export const categoryWord = (category: string): string => templates.categories[category] ?? inWords(category)

export const TemplateStatus = ({ status }: { status: string }) => (
  <Badge tone={tones[status]}>{statusWord(status)}</Badge>
)

/** How customers take it, where the provider warns: a template of low quality is paused next. */
export function TemplateQuality({ quality }: Pick<Template, 'quality'>) {
  if (quality !== 'YELLOW' && quality !== 'RED') return null
  return <Badge tone={quality === 'RED' ? 'red' : 'amber'}>{templates.qualities[quality]}</Badge>
}

export const hrefOf = ({ name, language }: Pick<Template, 'name' | 'language'>): string =>
  `/templates/${encodeURIComponent(name)}/${encodeURIComponent(language)}`

/** A state we have no word for is better said in the channel's than not at all. */
function inWords(state: string): string {
  const text = state.toLowerCase().replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}
