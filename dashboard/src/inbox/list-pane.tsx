/**
 * The list: status, filters, search, and the conversations that fit. While
 * somebody types in the search, what it found stands in its place.
 */
import { type KeyboardEvent, useEffect, useState } from 'react'
import { useSearch } from 'wouter'
import { Button, IconButton } from '../../../ui/button.tsx'
import { SearchInput } from '../../../ui/form.tsx'
import { Empty, Skeleton } from '../../../ui/state.tsx'
import { useCall } from '../lib/api.ts'
import { useIsManager } from '../lib/session.tsx'
import { useQueryValue, useStill } from '../lib/use.ts'
import { LinkButton } from '../ui/link-button.tsx'
import { More } from '../ui/more.tsx'
import { Failure } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { FilterBar } from './filter-bar.tsx'
import { type Filters, hrefOf, setFilters, toQuery, useFilters } from './filters.ts'
import { useConversations } from './live-pages.ts'
import { Row } from './row.tsx'
import { focusSearch, moveInList } from './rows.ts'
import { SearchResults } from './search-results.tsx'

const { list } = words.inbox

export function ListPane({ openId }: { openId: string }) {
  const { filters, isPlain } = useFilters()
  const [asked, setAsked] = useQueryValue('q')
  const [typed, setTyped] = useState(asked)
  const still = useStill(typed.trim())
  useEffect(() => {
    if (still !== (new URLSearchParams(location.search).get('q') ?? '')) setAsked(still)
  }, [still, setAsked])

  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.defaultPrevented || (step !== 1 && step !== -1)) return
    event.preventDefault()
    moveInList(step, openId)
  }
  const leave = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key !== 'Escape') return
    setTyped('')
    event.currentTarget.blur()
  }
  return (
    <section className="inbox-list" aria-label={list.label} onKeyDown={move}>
      <div className="inbox-list-head">
        <div className="inbox-search">
          <SearchInput
            label={words.inbox.search.label}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            onKeyDown={leave}
            autoComplete="off"
          />
          {typed && (
            <IconButton
              label={words.inbox.search.clear}
              icon="close"
              size="small"
              onClick={() => {
                setTyped('')
                focusSearch()
              }}
            />
          )}
        </div>
        {!typed && <FilterBar filters={filters} />}
      </div>
      {typed.trim() ? (
        <SearchResults query={still} openId={openId} />
      ) : (
        <Conversations filters={filters} isPlain={isPlain} openId={openId} />
      )}
    </section>
  )
}

function Conversations({ filters, isPlain, openId }: { filters: Filters; isPlain: boolean; openId: string }) {
  const search = useSearch()
  const pages = useConversations(toQuery(filters))
  if (!pages.data) {
    return pages.error ? <Failure error={pages.error} onRetry={() => void pages.refetch()} /> : <Skeleton lines={12} />
  }
  if (pages.items.length === 0 && !pages.hasNextPage) return <Nothing filters={filters} isPlain={isPlain} />
  return (
    <div className="inbox-scroll" data-stale={pages.isPlaceholderData ? '' : undefined}>
      <ul aria-label={list.label}>
        {pages.items.map((conversation) => (
          <Row
            key={conversation.id}
            conversation={conversation}
            href={hrefOf(search, conversation.id)}
            isOpen={conversation.id === openId}
          />
        ))}
      </ul>
      <More pages={pages} />
    </div>
  )
}

function Nothing({ filters, isPlain }: { filters: Filters; isPlain: boolean }) {
  const any = useConversations({})
  if (!any.data) return <Skeleton lines={12} />
  const isEmpty = any.items.length === 0
  if (isEmpty) return <NobodyWrote />
  const isDone = filters.status === 'open' && isPlain
  return (
    <Empty
      icon={isDone ? 'check' : 'filter'}
      title={list.noneHere}
      action={
        <Button onClick={() => setFilters({ status: 'all', assigned: '', unread: false, channel: '' })}>
          {list.clear}
        </Button>
      }
    >
      {isDone ? list.doneText : list.noneHereText}
    </Empty>
  )
}

/** How to get a first conversation: in a demo by writing as a customer, else by connecting a channel. */
function NobodyWrote() {
  const isManager = useIsManager()
  const isDemo = Boolean(useCall('GET /setup', {}).data?.demo)
  return (
    <Empty
      icon="inbox"
      title={list.empty}
      action={
        isDemo ? (
          <Button variant="primary" icon="external" onClick={() => window.open('/simulator', '_blank', 'noopener')}>
            {list.simulator}
          </Button>
        ) : (
          isManager && (
            <LinkButton variant="primary" href="/settings/channels">
              {list.connect}
            </LinkButton>
          )
        )
      }
    >
      {isDemo ? list.demoText : list.emptyText}
    </Empty>
  )
}
