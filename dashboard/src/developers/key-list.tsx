/** The API keys, newest first. The service returns all keys at once, so search and paging run in the browser. */
import { useState } from 'react'
import { Button, SearchInput } from '../../../ui/controls.tsx'
import { Badge, Card, EmptyState } from '../../../ui/display.tsx'
import type { ItemOf } from '../lib/api.ts'
import { useSearchParam } from '../lib/hooks.ts'
import { formatDate, formatNumber } from '../lib/time.ts'
import { LoadMore } from '../ui/page.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { LastTime, RelativeTime } from '../ui/time.tsx'
import { words } from '../words/words.ts'

const { keys: text } = words.developers

export type Key = ItemOf<'GET /keys'>

/** Above this number of keys the search box is shown. */
const searchThreshold = 10
const pageLength = 100

type Actions = { onEdit: (key: Key) => void; onRevoke: (key: Key) => void }

/** `actions`: absent for members who cannot change keys. */
export function KeyList({ keys, actions }: { keys: readonly Key[]; actions?: Actions | undefined }) {
  const [search, setSearch] = useSearchParam('q')
  const [length, setLength] = useState(pageLength)
  const found = keys.filter((key) => matchesSearch(key, search))
  const pages = {
    hasNextPage: found.length > length,
    isFetchingNextPage: false,
    fetchNextPage: () => setLength(length + pageLength),
  }
  return (
    <>
      {(keys.length > searchThreshold || search) && (
        <div className="row toolbar">
          <SearchInput label={text.search} value={search} onChange={(event) => setSearch(event.target.value)} />
          <span className="soft small" role="status">
            {search ? text.found(formatNumber(found.length), formatNumber(keys.length)) : text.count(keys.length)}
          </span>
        </div>
      )}
      <Card flush>
        {found.length === 0 ? (
          <EmptyState icon="search" title={text.none(search)} />
        ) : (
          <Table
            className="dev-keys"
            rows={found.slice(0, length)}
            keyOf={({ id }) => id}
            rowProps={({ state }) => ({ 'data-state': state })}
            columns={[
              ...columns,
              actions !== undefined && {
                label: text.actions,
                isLabelHidden: true,
                cellClassName: 'end nowrap',
                cell: (key) => key.state === 'active' && <KeyActions apiKey={key} {...actions} />,
              },
            ]}
          />
        )}
        <LoadMore pages={pages} />
      </Card>
    </>
  )
}

const KeyActions = ({ apiKey, onEdit, onRevoke }: { apiKey: Key } & Actions) => (
  <span className="dev-key-actions">
    <Button label={text.edit} size="small" aria-label={text.editOf(apiKey.name)} onClick={() => onEdit(apiKey)} />
    <Button label={text.revoke} size="small" aria-label={text.revokeOf(apiKey.name)} onClick={() => onRevoke(apiKey)} />
  </span>
)

const columns: Column<Key>[] = [
  {
    label: text.nameAndKey,
    cell: (key) => (
      <div>
        <p className="dev-key-name">
          <strong>{key.name}</strong> <StateBadge apiKey={key} />
        </p>
        <p className="soft">
          <code className="nowrap">{text.shortened(key.prefix)}</code>
        </p>
        <Expiry apiKey={key} />
      </div>
    ),
  },
  {
    label: text.scopes,
    cellClassName: 'dev-scope-cell',
    cell: ({ scopes }) =>
      scopes.length === 0 ? (
        <span className="soft">{text.noScopes}</span>
      ) : (
        <ul className="code-list">
          {scopes.map((scope) => (
            <li key={scope}>
              <code>{scope}</code>
            </li>
          ))}
        </ul>
      ),
  },
  { label: text.created, cell: ({ created_at }) => <RelativeTime at={created_at} /> },
  { label: text.lastUsed, cell: ({ last_used_at: at }) => <LastTime at={at} /> },
]

function StateBadge({ apiKey: { state } }: { apiKey: Key }) {
  if (state === 'active') return null
  return <Badge tone={state === 'revoked' ? 'red' : 'amber'}>{text.states[state]}</Badge>
}

/** The expiry date, if the key has one. */
function Expiry({ apiKey: { state, expires_at: end } }: { apiKey: Key }) {
  if (!end || state === 'revoked') return null
  return (
    <p className="soft small">{state === 'expired' ? text.expired(formatDate(end)) : text.expires(formatDate(end))}</p>
  )
}

function matchesSearch({ name, prefix, scopes, state }: Key, search: string): boolean {
  const text = search.trim().toLowerCase()
  return [name, prefix, state, ...scopes].some((each) => each.toLowerCase().includes(text))
}
