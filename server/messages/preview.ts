/** Renders a template as a customer would see it, while a member is choosing its values. Writes nothing. */
import type { Channel, ShownCard, TemplateParams } from '../channels/channel.ts'
import { getListedTemplate } from '../channels/templates.ts'
import { ApiError, badRequest } from '../lib/errors.ts'
import type { Sql } from '../lib/postgres/db.ts'

type PreviewedCard = {
  text: string
  /** The text of a text header. */
  header: string | null
  /** Any other header. */
  header_media: { format: string; url: string | null } | null
  buttons: string[]
}
export type TemplatePreview = PreviewedCard & { footer: string | null; cards: PreviewedCard[]; missing: string[] }

type TemplateChoice = {
  name: string
  language: string
  params: TemplateParams
  /** The provider account that owns it. When absent, that of the default number is preferred. */
  account: string | undefined
}

export async function previewTemplate(
  sql: Sql,
  workspaceId: string,
  channel: Pick<Channel, 'previewTemplate'>,
  { name, language, params, account }: TemplateChoice,
): Promise<TemplatePreview> {
  const template = await getListedTemplate(sql, workspaceId, { name, language, account })
  if (!template) throw badRequest(`name: there is no template ${name} in ${language}`)
  const previewed = channel.previewTemplate?.(template, params)
  if (!previewed?.ok) {
    throw new ApiError(
      'template_malformed',
      `the template ${name} in ${language} cannot be rendered: ${previewed?.message}`,
    )
  }
  const { shown, missing } = previewed
  return { ...toCard(shown), footer: shown.footer, cards: shown.cards.map(toCard), missing }
}

function toCard({ header, body, buttons }: ShownCard): PreviewedCard {
  const isText = header?.format === 'TEXT'
  return {
    text: body ?? '',
    header: isText ? (header.text ?? null) : null,
    header_media: header && !isText ? { format: header.format.toLowerCase(), url: header.url || null } : null,
    buttons: buttons.map(({ text }) => text ?? ''),
  }
}
