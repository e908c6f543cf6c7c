/**
 * The sidebar of the inbox: lists of the member, saved views, queues of teams, labels, teams and members, with how many open conversations each has. The counts
 * follow changes within a few seconds.
 */
import { type ReactNode, useState } from 'react'
import { Avatar } from '../../../../ui/display.tsx'
import { Icon, type IconName } from '../../../../ui/icon.tsx'
import { useCall } from '../../lib/api.ts'
import { useSearchParam } from '../../lib/hooks.ts'
import { memberName } from '../../lib/people.ts'
import { useSession } from '../../lib/session.tsx'
import { words } from '../../words/words.ts'
import { openDialog } from '../actions/dialogs.tsx'
import {
  type Filters,
  fromQuery,
  hasSameFilters,
  noFilters,
  queueOf,
  setFilters,
  unassigned,
  useFilters,
} from '../model/filters.ts'
import { useUnreadMentions } from '../model/unread-mentions.ts'

const { list, flow, mentions, bot } = words.inbox

/** `has_more`: there may be more. Queues, labels, teams and members have it in common. */
type Count = { id: string; count: number; has_more?: boolean }

/** Entries of a section before "Show more". */
const shownFirst = 8

/** `onChosen`: after an entry was chosen, for a drawer. */
export function Sidebar({ onChosen }: { onChosen?: () => void }) {
  const { filters } = useFilters()
  const { member } = useSession()
  const [mentionsInUrl, setMentions] = useSearchParam('mentions')
  const isMentions = mentionsInUrl === 'true'
  // A search finds all conversations, so it is none of these lists.
  const isOther = useSearchParam('q')[0] !== '' || isMentions
  const unreadMentions = useUnreadMentions()
  const totals = useCall('GET /conversations/counts', {}, { live: true }).data
  const counts = useCall('GET /inbox/counts', {}, { live: true }).data
  const { data: views = [], isPending: areViewsLoading } = useCall('GET /views', {}, { live: true })
  const labels = useCall('GET /labels', {}, { live: true }).data ?? []
  const teams = useCall('GET /teams', {}).data ?? []
  const members = (useCall('GET /members', {}).data ?? []).filter(({ state }) => state === 'active')
  const countOf = (all: readonly Count[] | undefined, id: string) => {
    const found = all?.find((one) => one.id === id)
    return { count: found?.count, hasMore: found?.has_more ?? counts?.has_more }
  }
  // A view also has an order. While one is shown, the list of the same filters is not marked too.
  const shownView = views.find(({ filters: saved }) => {
    const view = fromQuery(saved)
    return !isOther && view.sort === filters.sort && hasSameFilters(filters, view)
  })
  const entryOf = (to: Partial<Filters>) => {
    // The order of a view or a queue ends with it.
    const hasOrder = shownView || (filters.sort === 'waiting' && hasSameFilters(filters, queueOf(filters.team)))
    const target: Filters = { ...noFilters, sort: (hasOrder ? noFilters : filters).sort, ...to }
    return {
      isOn: !isOther && !shownView && hasSameFilters(filters, target),
      onClick: () => {
        setFilters(target)
        setMentions('')
        onChosen?.()
      },
    }
  }
  return (
    <nav className="inbox-sidebar" aria-label={flow.sidebar}>
      <ul>
        <Entry icon="inbox" name={flow.allOpen} count={totals?.open} {...entryOf({})} />
        <Entry icon="person" name={list.mine} count={totals?.mine} {...entryOf({ assigned: 'me' })} />
        <Entry icon="off" name={list.unassigned} count={totals?.unassigned} {...entryOf({ assigned: unassigned })} />
        {(filters.bot || (totals?.bot ?? 0) > 0) && (
          <Entry icon="automations" name={bot.view} count={totals?.bot} {...entryOf({ bot: true, status: 'all' })} />
        )}
        <Entry
          icon="mention"
          name={mentions.label}
          count={unreadMentions.length}
          isOn={isMentions}
          onClick={() => {
            setMentions('true')
            onChosen?.()
          }}
        />
      </ul>
      <Section
        title={flow.views}
        action={
          <button
            type="button"
            aria-label={flow.manageViews}
            title={flow.manageViews}
            data-opens="views"
            onClick={openViews}
          >
            <Icon name="edit" />
          </button>
        }
        entries={views.map(({ id, name, filters: saved }) => {
          const entry = { ...entryOf(fromQuery(saved)), isOn: id === shownView?.id }
          return <Entry key={id} icon="view" name={name} {...countOf(counts?.views, id)} {...entry} />
        })}
        empty={areViewsLoading ? '' : flow.noViews}
      />
      <Section
        title={flow.queues}
        entries={teams
          .map((team) => ({ ...team, ...countOf(counts?.queues, team.id), ...entryOf(queueOf(team.id)) }))
          .filter(({ count, isOn }) => count || isOn)
          .map(({ id, name, color, count, hasMore, isOn, onClick }) => (
            <Entry
              key={id}
              mark={<span className="inbox-label-dot" style={{ background: color }} />}
              title={flow.queueOf(name)}
              {...{ name, count, hasMore, isOn, onClick }}
            />
          ))}
      />
      <Section
        title={flow.labels}
        entries={labels.map(({ id, name, color }) => (
          <Entry
            key={id}
            mark={<span className="inbox-label-dot" style={{ background: color }} />}
            name={name}
            {...countOf(counts?.labels, id)}
            {...entryOf({ label: id })}
          />
        ))}
      />
      <Section
        title={flow.teams}
        entries={teams.map(({ id, name, color }) => (
          <Entry
            key={id}
            mark={<span className="inbox-label-dot" style={{ background: color }} />}
            name={name}
            {...countOf(counts?.teams, id)}
            {...entryOf({ team: id })}
          />
        ))}
      />
      <Section
        title={flow.members}
        entries={members
          .filter(({ id, role }) => id !== member.id && role !== 'viewer')
          .map((one) => (
            <Entry
              key={one.id}
              mark={<Avatar name={memberName(one)} size="small" />}
              name={memberName(one)}
              {...countOf(counts?.members, one.id)}
              {...entryOf({ assigned: one.id })}
            />
          ))}
      />
    </nav>
  )
}

const openViews = () => openDialog({ kind: 'views' })

type SectionProps = { title: string; entries: readonly ReactNode[]; action?: ReactNode; empty?: string }

function Section({ title, entries, action, empty }: SectionProps) {
  const [isWhole, setWhole] = useState(false)
  if (entries.length === 0 && empty === undefined) return null
  const hiddenCount = isWhole ? 0 : Math.max(0, entries.length - shownFirst)
  return (
    <section>
      <h2>
        {title}
        {action}
      </h2>
      {entries.length === 0 && empty && <p className="soft small">{empty}</p>}
      <ul>
        {entries.slice(0, entries.length - hiddenCount)}
        {hiddenCount > 0 && (
          <li>
            <button type="button" className="soft" onClick={() => setWhole(true)}>
              {flow.more(hiddenCount)}
            </button>
          </li>
        )}
      </ul>
    </section>
  )
}

type EntryProps = {
  icon?: IconName
  mark?: ReactNode
  name: string
  title?: string
  count: number | undefined
  hasMore?: boolean | undefined
  isOn: boolean
  onClick: () => void
}

const Entry = ({ icon, mark, name, title = name, count, hasMore, isOn, onClick }: EntryProps) => (
  <li>
    <button type="button" aria-current={isOn ? 'true' : undefined} title={title} onClick={onClick}>
      {icon ? <Icon name={icon} /> : mark}
      <span className="cut">{name}</span>
      {count !== undefined && count > 0 && <small>{list.atMost(count, hasMore)}</small>}
    </button>
  </li>
)
