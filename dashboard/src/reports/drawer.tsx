/** What is behind a figure: a list beside the report, page by page, and at its end whether it adds up to the figure. */
import './drawer.css'
import { type ReactNode, useEffect } from 'react'
import { Link } from 'wouter'
import { Button, IconButton } from '../../../ui/controls.tsx'
import { EmptyState, ErrorNote } from '../../../ui/display.tsx'
import { Modal } from '../../../ui/overlays.tsx'
import { describeError } from '../lib/api.ts'
import { nameOf } from '../lib/people.ts'
import { formatNumber } from '../lib/time.ts'
import { ChannelAvatar, type ChannelName } from '../ui/channel.tsx'
import { PagedList, type Pages } from '../ui/page.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { reportWords } from '../words/reports.ts'
import { words } from '../words/words.ts'
import { closeRows } from './opened.ts'
import { type FormatTime, formatIn, isZoneOfBrowser } from './zone.ts'

const { list: text } = reportWords

type Props<Item> = {
  title: string
  /** The days, or hours, of the figure. */
  scope: string
  /** The figure in words. */
  summary: string
  /** Of the times in the rows. */
  timeZone: string
  pages: Pages<Item>
  columnsWith: (formatTime: FormatTime) => readonly Column<Item>[]
  keyOf: (item: Item) => string
  /** What the figure counts, of the loaded items and in the report. They are equal at the end of the list. */
  counted: { loaded: number; expected: number; name: (count: number) => string; format?: (count: number) => string }
  isRestricted: boolean
  onUpdate: () => unknown
  /** The rows link to conversations. */
  isLinked?: boolean
}

export function RowsDrawer<Item>(props: Props<Item>) {
  const { title, scope, summary, timeZone, pages, columnsWith, keyOf, isLinked = true, onUpdate } = props
  // The report and the list are then of about the same moment.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the list opens.
  useEffect(() => {
    onUpdate()
  }, [])
  return (
    <Modal className="dialog reports-drawer" aria-label={title} onDismiss={closeRows}>
      <header>
        <div>
          <h2>{title}</h2>
          <p className="soft small">
            {scope}
            {!isZoneOfBrowser(timeZone) && ` · ${text.zone(timeZone)}`}
          </p>
        </div>
        <IconButton label={words.common.close} icon="close" onClick={closeRows} />
      </header>
      <div className="dialog-body">
        <p>
          <strong>{summary}</strong>
        </p>
        <PagedList pages={pages} empty={<EmptyState icon="reports" title={text.empty} text={text.emptyText} />}>
          {(items) => (
            <Table
              className="reports-behind"
              label={text.table}
              isLinked={isLinked}
              isCompact
              rows={items}
              keyOf={keyOf}
              columns={columnsWith(formatIn(timeZone))}
            />
          )}
        </PagedList>
        <Sum {...props} />
      </div>
    </Modal>
  )
}

/** Whether the list is complete and adds up to the figure. */
function Sum<Item>({ pages, counted, isRestricted, onUpdate }: Props<Item>): ReactNode {
  const { loaded, expected, name, format = formatNumber } = counted
  const update = () => {
    onUpdate()
    pages.refetch()
  }
  if (pages.data === undefined) return null
  if (pages.error) return <ErrorNote>{describeError(pages.error)}</ErrorNote>
  const [shown, all] = [format(loaded), name(expected)]
  if (pages.hasNextPage || loaded === expected) {
    return (
      <p className="soft small" role="status">
        {pages.hasNextPage ? text.shown(shown, all) : text.allShown(all)}
      </p>
    )
  }
  return (
    <div className="row" role="status">
      <p className="soft small">{isRestricted && loaded < expected ? text.hidden(shown, all) : text.changed}</p>
      {!isRestricted && <Button label={text.update} size="small" icon="refresh" onClick={update} />}
    </div>
  )
}

type Conversation = {
  conversation_id: string
  channel: ChannelName
  contact: Parameters<typeof nameOf>[0]
}

/** The contact, which links to the conversation. */
export const ContactLink = ({ item: { conversation_id, channel, contact } }: { item: Conversation }) => (
  <span className="reports-contact">
    <ChannelAvatar name={nameOf(contact)} channel={channel} />
    <Link href={`/inbox/${conversation_id}`} className="row-link cut">
      {nameOf(contact)}
    </Link>
  </span>
)

export const None = ({ text: shown = '–' }: { text?: string }) => <span className="soft">{shown}</span>
