/** The conversation list with filters, selection and search. Its order stays still while the member works in it. Search results replace the list while the search box has text. */
import { type KeyboardEvent, lazy, Suspense, useEffect, useRef, useState } from 'react'
import { useSearch } from 'wouter'
import { Button, IconButton, SearchInput } from '../../../../ui/controls.tsx'
import { EmptyState, Skeleton } from '../../../../ui/display.tsx'
import { useCall } from '../../lib/api.ts'
import { listSharedChannels, useConnections } from '../../lib/connections.ts'
import { inboxOrders } from '../../lib/conversation-lists.ts'
import { useDebounced, useSearchParam } from '../../lib/hooks.ts'
import { useIsManager } from '../../lib/session.tsx'
import { useShortcuts } from '../../lib/shortcuts.ts'
import { LinkButton } from '../../ui/link-button.tsx'
import { LoadMore, QueryState } from '../../ui/page.tsx'
import { words } from '../../words/words.ts'
import type { InboxActions } from '../actions/actions.ts'
import { StartConversation } from '../composer/start-button.tsx'
import { type Filters, hrefOf, noFilters, setFilters, toQuery, useFilters } from '../model/filters.ts'
import { focusSearch, isListInUse, moveInList } from '../model/list-focus.ts'
import { useConversations } from '../model/live-pages.ts'
import { clearSelection, getSelected, keepSelected, useSelected } from '../model/selection.ts'
import type { SidebarState } from '../model/use-side-panel.ts'
import { FilterBar, ListTools } from './filter-bar.tsx'
import { Row } from './row.tsx'
import { SearchResults } from './search-results.tsx'
import { useRowKeys, useStillOrder } from './still-order.ts'

const { list, flow } = words.inbox

const Mentions = lazy(() => import('./mentions.tsx'))
const BulkBar = lazy(() => import('./bulk-bar.tsx'))
const Bulk = ({ actions }: { actions: InboxActions }) => (
  <Suspense>
    <BulkBar actions={actions} />
  </Suspense>
)

type ListPaneProps = { openId: string; actions: InboxActions; sidebar: SidebarState }

export function ListPane({ openId, actions, sidebar }: ListPaneProps) {
  const { filters, isPlain } = useFilters()
  const hasSelection = useSelected().size > 0
  const [queryInUrl, setQueryInUrl] = useSearchParam('q')
  const isMentions = useSearchParam('mentions')[0] === 'true'
  const [searchText, setSearchText] = useState(queryInUrl)
  const settledText = useDebounced(searchText.trim())
  useEffect(() => {
    if (settledText !== (new URLSearchParams(location.search).get('q') ?? '')) setQueryInUrl(settledText)
  }, [settledText, setQueryInUrl])

  const isSearching = searchText.trim() !== ''
  // No action changes conversations that the member does not see.
  useEffect(() => {
    if (isSearching || isMentions) clearSelection()
  }, [isSearching, isMentions])

  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.defaultPrevented || (step !== 1 && step !== -1)) return
    event.preventDefault()
    moveInList(step)
  }
  const leave = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key !== 'Escape') return
    setSearchText('')
    event.currentTarget.blur()
  }
  return (
    <section
      className="inbox-list"
      // Not `:has()` in the style sheet: it computes the style of all rows when one of them changes.
      data-selecting={hasSelection ? '' : undefined}
      aria-label={list.label}
      onKeyDown={move}
    >
      <div className="stack inbox-list-head">
        <div className="line inbox-search-row">
          <div className="inbox-search">
            <SearchInput
              label={words.inbox.search.label}
              placeholder={words.inbox.search.placeholder}
              value={searchText}
              onChange={(event) => setSearchText(event.target.value)}
              onKeyDown={leave}
              autoComplete="off"
            />
            {searchText && (
              <IconButton
                label={words.inbox.search.clear}
                icon="close"
                onClick={() => {
                  setSearchText('')
                  focusSearch()
                }}
              />
            )}
          </div>
          {!searchText && <ListTools filters={filters} sidebar={sidebar} />}
          <StartConversation kind="key" />
        </div>
        {!searchText && (
          <div className="inbox-list-tools">
            <div className="stack">
              <FilterBar filters={filters} hasSidebar={sidebar.isDocked} />
            </div>
            {hasSelection && <Bulk actions={actions} />}
          </div>
        )}
      </div>
      {isSearching ? (
        <SearchResults query={settledText} openId={openId} />
      ) : isMentions ? (
        <Suspense fallback={<Skeleton lines={12} />}>
          <Mentions openId={openId} />
        </Suspense>
      ) : (
        <Conversations filters={filters} isPlain={isPlain} openId={openId} />
      )}
    </section>
  )
}

function Conversations({ filters, isPlain, openId }: { filters: Filters; isPlain: boolean; openId: string }) {
  const search = useSearch()
  const query = toQuery(filters)
  const pages = useConversations(query)
  const sharedChannels = listSharedChannels(useConnections())
  const isWorking = () => getSelected().size > 0 || isListInUse()
  const order = {
    // Until the first page has loaded there is no order to hold. While another query loads, the rows of the previous one are shown:
    // their order is not that of the new query.
    key: `${JSON.stringify(query)}${!pages.data || pages.isPlaceholderData ? ' loading' : ''}`,
    openId,
    fresh: pages.items,
    isComplete: !pages.hasNextPage,
    compare: inboxOrders[filters.sort],
  }
  const { rows, newCount, apply } = useStillOrder(order, isWorking)
  useEffect(() => keepSelected(new Set(rows.map(({ id }) => id))), [rows])
  const keyOf = useRowKeys(rows)
  const scroller = useRef<HTMLDivElement>(null)
  const showNew = () => {
    apply()
    scroller.current?.scrollTo(0, 0)
  }
  useShortcuts({ '.': showNew })
  if (!pages.data) return <QueryState query={pages} lines={12} />
  if (rows.length === 0 && !pages.hasNextPage) return <NoConversations filters={filters} isPlain={isPlain} />
  return (
    <>
      <div className="inbox-new" role="status">
        {newCount > 0 && (
          <button type="button" title={flow.newTitle(newCount)} onClick={showNew}>
            {flow.newOnes(newCount)}
          </button>
        )}
      </div>
      <div ref={scroller} className="inbox-scroll" data-stale={pages.isPlaceholderData ? '' : undefined}>
        <ul aria-label={list.label}>
          {rows.map((conversation) => (
            <Row
              key={keyOf(conversation.id)}
              conversation={conversation}
              href={hrefOf(search, conversation.id)}
              isOpen={conversation.id === openId}
              namesConnection={sharedChannels.includes(conversation.channel)}
              sort={filters.sort}
            />
          ))}
        </ul>
        <LoadMore pages={pages} />
      </div>
    </>
  )
}

function NoConversations({ filters, isPlain }: { filters: Filters; isPlain: boolean }) {
  const anyConversations = useConversations({})
  if (!anyConversations.data) return <Skeleton lines={12} />
  const isEmpty = anyConversations.items.length === 0
  if (isEmpty) return <EmptyInbox />
  const isDone = filters.status === 'open' && isPlain
  return (
    <EmptyState
      icon={isDone ? 'check' : 'filter'}
      title={list.noneHere}
      text={isDone ? list.doneText : list.noneHereText}
      action={<Button label={list.clear} onClick={() => setFilters({ ...noFilters, status: 'all' })} />}
    />
  )
}

/** The empty inbox: offers the simulator in a demo, otherwise connecting a channel. */
function EmptyInbox() {
  const isManager = useIsManager()
  const isDemo = Boolean(useCall('GET /setup', {}).data?.demo)
  return (
    <EmptyState
      icon="inbox"
      title={list.empty}
      text={isDemo ? list.demoText : list.emptyText}
      action={
        isDemo ? (
          <Button
            label={list.simulator}
            variant="primary"
            icon="external"
            onClick={() => window.open('/simulator', '_blank', 'noopener')}
          />
        ) : (
          isManager && <LinkButton label={list.connect} variant="primary" href="/settings/channels" />
        )
      }
    />
  )
}
