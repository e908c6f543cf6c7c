/** The audit log: actions of members in the dashboard as sentences, newest first. Calls with an API key are not recorded. */
import { Link } from 'wouter'
import { Button, Select } from '../../../ui/controls.tsx'
import { Avatar, Card, EmptyState } from '../../../ui/display.tsx'
import { type ItemOf, pathOf, useCall, usePages } from '../lib/api.ts'
import { useUrlFilters } from '../lib/hooks.ts'
import { memberName } from '../lib/people.ts'
import { formatTime } from '../lib/time.ts'
import { AnchorButton } from '../ui/link-button.tsx'
import { Page, PagedList } from '../ui/page.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { settingsWords } from '../words/settings.ts'
import { words } from '../words/words.ts'

const { audit: text } = settingsWords

type Entry = ItemOf<'GET /audit'>

export function AuditLog() {
  const filters = useUrlFilters(['member', 'object'], ['day'])
  const { member, ...others } = filters.query
  const query = { ...others, ...(member ? { member_id: member } : {}) }
  const members = useCall('GET /members', {})
  const pages = usePages('GET /audit', { query }, { live: true, keepPrevious: true })
  const people = (members.data ?? []).filter(({ state }) => state === 'active')
  const empty = filters.isFiltered ? (
    <EmptyState icon="search" title={text.noneSuch} text={text.noneSuchText} />
  ) : (
    <EmptyState icon="shield" title={text.empty} text={text.emptyText} />
  )
  return (
    <Page
      title={text.title}
      lead={text.lead}
      actions={<AnchorButton label={text.export} icon="download" href={pathOf('GET /audit.csv', { query })} download />}
    >
      <search className="row toolbar" aria-label={text.filters}>
        <Select
          aria-label={text.member}
          options={[['', text.allMembers], ...people.map((one) => [one.id, memberName(one)] as const)]}
          {...filters.bind('member')}
        />
        <Select
          aria-label={text.object}
          options={[['', text.allObjects], ...Object.entries(text.objects)]}
          {...filters.bind('object')}
        />
        <label className="line settings-day">
          {text.day}
          <input type="date" className="input" {...filters.bind('day')} />
        </label>
        {filters.isFiltered && <Button label={text.clear} variant="quiet" icon="close" onClick={filters.clear} />}
      </search>
      <Card flush>
        <PagedList pages={pages} empty={empty}>
          {(entries) => (
            <Table
              className="settings-people"
              isCompact
              label={text.list}
              rows={entries}
              keyOf={({ id }) => id}
              columns={columns}
            />
          )}
        </PagedList>
      </Card>
    </Page>
  )
}

const columns: Column<Entry>[] = [
  {
    label: text.what,
    cell: (entry) => (
      <span className="settings-person">
        <Avatar name={nameOf(entry)} size="small" />
        <span>
          <strong title={entry.member.email}>{nameOf(entry)}</strong> <Sentence entry={entry} />
        </span>
      </span>
    ),
  },
  { label: text.details, narrow: 'plain', cellClassName: 'soft', cell: (entry) => detailsOf(entry) },
  {
    label: text.when,
    narrow: 'plain',
    cell: ({ at }) => (
      <time dateTime={at} className="nowrap soft">
        {formatTime(at)}
      </time>
    ),
  },
]

const nameOf = ({ member }: Entry): string => member.name ?? member.email ?? text.formerMember

/** The action with its object. */
function Sentence({ entry }: { entry: Entry }) {
  const { action } = entry
  const [before = '', after] = (text.actions[action] ?? text.otherAction(action)).split('{}')
  const href = pathOfObject(entry)
  // A sentence without its object links as a whole.
  if (after === undefined) return href ? <Link href={href}>{before}</Link> : before
  const name = objectOf(entry)
  return (
    <>
      {before}
      {name === undefined ? text.unnamed : href ? <Link href={href}>{name}</Link> : <strong>{name}</strong>}
      {after}
    </>
  )
}

/** The summary of a channel action begins with the channel's identifier, which has a display name. */
const nameChannel = (summary: string): string =>
  summary.replace(/^(msgapp|social|web)(?=$|: )/, (channel) => words.channels[channel as keyof typeof words.channels])

/** A customer's name comes from their contact, the name of another object from the entry. */
function objectOf({ action, subject_name, summary }: Entry): string | undefined {
  if (/^(contact|conversation)\./.test(action)) return subject_name ?? undefined
  return summary ? nameChannel(summary) : undefined
}

/** What the sentence does not say. */
function detailsOf(entry: Entry): string | null {
  const { action, summary } = entry
  if (!summary) return null
  const isInSentence = text.actions[action]?.includes('{}') && objectOf(entry) === nameChannel(summary)
  return isInSentence ? null : nameChannel(summary)
}

/** Pages of kinds of objects, and of one object where the entry has its id. */
function pathOfObject({ action, subject_id: id, subject_name }: Entry): string | undefined {
  if (/\.(deleted|erased|removed)$/.test(action)) return undefined
  const [kind = ''] = action.split('.')
  const one: Record<string, string> = {
    broadcast: '/broadcasts',
    segment: '/segments',
    webhook: '/webhooks',
    import: '/contacts/import',
  }
  const customer: Record<string, string> = { contact: '/contacts', conversation: '/inbox' }
  // A contact is blocked in a conversation, on its channel.
  const object = /^contact\.(un)?blocked$/.test(action) ? 'conversation' : kind
  if (customer[object]) return id && subject_name ? `${customer[object]}/${id}` : undefined
  return one[kind] && id ? `${one[kind]}/${id}` : pagesOfKinds[kind]
}

const pagesOfKinds: Record<string, string> = {
  channel: '/settings/channels',
  contacts: '/contacts',
  delivery: '/webhooks',
  integration: '/integrations',
  key: '/developers/keys',
  label: '/settings/labels',
  member: '/settings/members',
  reply: '/settings/replies',
  tag: '/contacts',
  target: '/settings/targets',
  template: '/templates',
  widget: '/settings/channels',
  workspace: '/settings/workspace',
}
