/** The page of a template: details, preview and a link to use it in a broadcast. */
import { useState } from 'react'
import { Card, EmptyState, Note } from '../../../ui/display.tsx'
import { useCall } from '../lib/api.ts'
import type { TemplateParams } from '../lib/calls.ts'
import { useNumbers } from '../lib/connections.ts'
import { useSearchParam } from '../lib/hooks.ts'
import { Facts } from '../ui/facts.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { words } from '../words/words.ts'
import { missingValues, parseTemplate, type Template } from './parse-template.ts'
import { TemplatePreview } from './preview.tsx'
import { categoryLabel, isUsable, statusLabel, TemplateStatus } from './status.tsx'
import { TemplateValues } from './values.tsx'

const { templates: text } = words
const back = { href: '/templates', label: text.back }

export function TemplateDetail({ name, language }: { name: string; language: string }) {
  const query = useCall('GET /templates', {}, { live: true })
  const [account] = useSearchParam('account')
  const found = query.data?.find(
    (template) =>
      template.name === name && template.language === language && (!account || template.account === account),
  )
  return (
    <Page title={name} back={back} actions={found && isUsable(found) && <Use template={found} />}>
      <QueryView query={query}>
        {() =>
          found ? (
            <Found key={`${account} ${name} ${language}`} template={found} />
          ) : (
            <EmptyState
              icon="templates"
              title={text.gone}
              text={text.goneText}
              action={<LinkButton label={text.back} href="/templates" />}
            />
          )
        }
      </QueryView>
    </Page>
  )
}

function Use({ template: { name, language, account } }: { template: Template }) {
  const numbers = useNumbers()
  const isOfDefault = numbers[0]?.account_id === account
  const from = isOfDefault ? undefined : numbers.find(({ account_id }) => account_id === account)?.id
  const query = new URLSearchParams({ template: name, language, ...(from ? { from } : {}) })
  return <LinkButton label={text.use} variant="primary" icon="broadcasts" href={`/broadcasts/new?${query}`} />
}

function Found({ template }: { template: Template }) {
  const [params, setParams] = useState<TemplateParams>()
  const needsValues = missingValues(template, {}).length > 0
  return (
    <div className="templates-detail">
      <div className="stack">
        {!isUsable(template) && (
          <Note tone="amber">
            {text.unusable(statusLabel(template.status))} {template.status_reason}
          </Note>
        )}
        <Card title={text.about}>
          <Facts
            facts={{
              [text.columns.status]: <TemplateStatus status={template.status} />,
              [text.columns.language]: template.language,
              [text.columns.category]: (
                <>
                  {categoryLabel(template.category)}
                  {template.previous_category && (
                    <p className="soft small">{text.wasCategory(categoryLabel(template.previous_category))}</p>
                  )}
                </>
              ),
              [text.quality]: qualityWord(template.quality),
              [text.format]: needsValues ? formatOf(template) : text.formats.none,
              [text.columns.updated]: <RelativeTime at={template.updated_at} />,
            }}
          />
        </Card>
        <Card title={text.tryOut}>
          <p className="soft">{needsValues ? text.tryOutLead : text.noValues}</p>
          {needsValues && <TemplateValues template={template} params={params ?? {}} onChange={setParams} />}
        </Card>
      </div>
      <aside className="templates-side" aria-label={text.preview.title}>
        <TemplatePreview template={template} params={params} />
      </aside>
    </div>
  )
}

const qualityWord = (quality: string | null): string =>
  Object.entries(text.qualities).find(([score]) => score === quality)?.[1] ?? text.notRated

function formatOf(template: Template): string {
  const { body, cards } = parseTemplate(template)
  const variables = [body, ...cards.map((card) => card.body)].flatMap((each) => each?.variables ?? [])
  return variables.some(({ isNamed }) => isNamed) ? text.formats.named : text.formats.positional
}
