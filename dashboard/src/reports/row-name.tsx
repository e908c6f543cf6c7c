/** The name of a row, which links to the figures of the row alone. */
import { Link } from 'wouter'
import { Avatar } from '../../../ui/display.tsx'
import { useConnections } from '../lib/connections.ts'
import { ChannelMark } from '../ui/channel.tsx'
import { LabelChip } from '../ui/label.tsx'
import { type FilterName, useSharedSearch } from './request.ts'

type Props = {
  dimension: FilterName
  row: { id: string | null; name: string | null; color: string | null }
  /** As the page shows it. */
  name: string
  /** Of the report of the row. */
  path: string
  isAll: boolean
}

export function RowName({ dimension, row, name, path, isAll }: Props) {
  const searchWith = useSharedSearch()
  if (isAll) return <strong>{name}</strong>
  return (
    <span className="reports-row-name">
      <Mark dimension={dimension} row={row} />
      <Link href={path + searchWith({ [dimension]: row.id ?? 'none' })} className="cut" title={name}>
        {row.color ? <LabelChip name={name} color={row.color} /> : name}
      </Link>
    </span>
  )
}

function Mark({ dimension, row: { id, name } }: Pick<Props, 'dimension' | 'row'>) {
  const connection = useConnections().find((each) => each.id === id)
  if (dimension === 'member' && name) return <Avatar name={name} size="small" />
  return dimension === 'connection' && connection ? <ChannelMark channel={connection.channel} /> : null
}
