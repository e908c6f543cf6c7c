/** The list of templates. On a wide window, the hovered or focused template is previewed beside it. */
import { useState } from 'react'
import { Link } from 'wouter'
import { Button, SearchInput, Select } from '../../../ui/controls.tsx'
import { EmptyState } from '../../../ui/display.tsx'
import { useCall } from '../lib/api.ts'
import { type Connection, useNumbers } from '../lib/connections.ts'
import { useSearchParam } from '../lib/hooks.ts'
import { useIsManager } from '../lib/session.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { words } from '../words/words.ts'
import { parseTemplate, type Template } from './parse-template.ts'
import { TemplatePreview } from './preview.tsx'
import { categoryLabel, hrefOf, statusLabel, TemplateQuality, TemplateStatus } from './status.tsx'
import { SyncTemplates } from './sync.tsx'

const { templates: text } = words

export function TemplateList() {
  const query = useCall('GET /templates', {}, { live: true })
  const isManager = useIsManager()
  return (
    <Page title={text.title} lead={text.lead} actions={<SyncTemplates />}>
      <QueryView query={query}>
        {(templates) =>
          templates.length > 0 ? (
            <Found templates={templates} />
          ) : (
            <EmptyState
              icon="templates"
              title={text.empty}
              text={isManager ? text.emptyText : text.emptyAgent}
              action={isManager && <LinkButton label={text.connect} href="/settings/channels" />}
            />
          )
        }
      </QueryView>
    </Page>
  )
}

function Found({ templates }: { templates: readonly Template[] }) {
  const [search, setSearch] = useSearchParam('search')
  const [status, setStatus] = useSearchParam('status')
  const [active, setActive] = useState<Template>()
  const found = templates.filter((template) => (!status || template.status === status) && has(template, search))
  const shown = found.find((template) => active && keyOf(template) === keyOf(active)) ?? found[0]
  const numbers = useNumbers()
  const hasSeveralAccounts = new Set(numbers.map(({ account_id }) => account_id)).size > 1
  const statuses = [...new Set(templates.map((template) => template.status))].sort()
  return (
    <>
      <div className="row toolbar">
        <SearchInput label={text.search} value={search} onChange={(event) => setSearch(event.target.value)} />
        <Select
          aria-label={text.status}
          value={status}
          options={[['', text.anyStatus], ...statuses.map((each) => [each, statusLabel(each)] as const)]}
          onChange={(event) => setStatus(event.target.value)}
        />
      </div>
      {shown ? (
        <div className="templates-split">
          <div className="card">
            <Table
              className="table-text"
              isLinked
              rows={found}
              keyOf={keyOf}
              columns={columns(setActive, hasSeveralAccounts ? numbers : [])}
              rowProps={(template) => ({
                'data-shown': template === shown ? '' : undefined,
                onMouseEnter: () => setActive(template),
              })}
            />
          </div>
          <aside className="templates-side" aria-label={text.preview.title}>
            <TemplatePreview key={keyOf(shown)} template={shown} />
          </aside>
        </div>
      ) : (
        <EmptyState
          icon="search"
          title={text.nothing}
          text={text.nothingText}
          action={
            <Button
              label={text.clear}
              onClick={() => {
                setSearch('')
                setStatus('')
              }}
            />
          }
        />
      )}
    </>
  )
}

/** `numbers`: those of several provider accounts; each template is then shown with the numbers that can send it. */
const columns = (
  onFocus: (template: Template) => void,
  numbers: readonly Connection[],
): (Column<Template> | false)[] => [
  {
    label: text.columns.name,
    cell: (template) => (
      <div className="column table-name templates-name">
        <Link
          className="row-link"
          href={hrefOf(template, numbers.length > 0 ? template.account : undefined)}
          onFocus={() => onFocus(template)}
        >
          {template.name}
        </Link>
        <span className="soft small cut">{parseTemplate(template).body?.text}</span>
      </div>
    ),
  },
  numbers.length > 0 && {
    label: text.columns.numbers,
    narrow: 'plain',
    cellClassName: 'templates-numbers',
    cell: ({ account }) => <NumberNames of={numbers.filter(({ account_id }) => account_id === account)} />,
  },
  { label: text.columns.language, narrow: 'plain', cell: ({ language }) => language },
  { label: text.columns.category, narrow: 'plain', cell: ({ category }) => categoryLabel(category) },
  {
    label: text.columns.status,
    narrow: 'status',
    cell: ({ status, quality }) => (
      <div className="row">
        <TemplateStatus status={status} />
        <TemplateQuality quality={quality} />
      </div>
    ),
  },
  {
    label: text.columns.updated,
    className: 'templates-updated',
    cellClassName: 'soft',
    cell: ({ updated_at }) => <RelativeTime at={updated_at} />,
  },
]

function NumberNames({ of: numbers }: { of: readonly Connection[] }) {
  const names = numbers.map(({ name }) => name).join(', ')
  return <span title={names}>{names}</span>
}

const keyOf = ({ account, name, language }: Template): string => `${account} ${name} ${language}`

/** Matches the name or the body text. */
function has(template: Template, search: string): boolean {
  const { header, body, footer } = parseTemplate(template)
  const parts = [template.name, template.language, header?.kind === 'text' ? header.text : '', body?.text, footer]
  const haystack = parts.join('\n').toLowerCase()
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => haystack.includes(word))
}
