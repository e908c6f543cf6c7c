/** Status, quality, category and path of a template. */
import { Badge, type Tone } from '../../../ui/display.tsx'
import { words } from '../words/words.ts'
import type { Template } from './parse-template.ts'

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

export const statusLabel = (status: string): string => templates.statuses[status] ?? humanize(status)

export const categoryLabel = (category: string): string => templates.categories[category] ?? humanize(category)

export const TemplateStatus = ({ status }: { status: string }) => (
  <Badge tone={tones[status]}>{statusLabel(status)}</Badge>
)

/** A warning for medium or low quality: the provider pauses templates of low quality. */
export function TemplateQuality({ quality }: Pick<Template, 'quality'>) {
  if (quality !== 'YELLOW' && quality !== 'RED') return null
  return <Badge tone={quality === 'RED' ? 'red' : 'amber'}>{templates.qualities[quality]}</Badge>
}

/** `account`: the provider account, if several have templates. */
export const hrefOf = ({ name, language }: Pick<Template, 'name' | 'language'>, account?: string | null): string =>
  `/templates/${encodeURIComponent(name)}/${encodeURIComponent(language)}${account ? `?account=${encodeURIComponent(account)}` : ''}`

/** Fallback for values of the provider without a label: `PENDING_REVIEW` becomes "Pending review". */
function humanize(state: string): string {
  const text = state.toLowerCase().replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}
