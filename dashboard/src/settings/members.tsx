/**
 * The people of the workspace, and those who are invited. Owners and admins
 * invite, change roles and remove; of an owner only another owner does. The
 * service insists on all of it, and says why when it refuses.
 */
import { useState } from 'react'
import { Avatar } from '../../../ui/avatar.tsx'
import { Badge } from '../../../ui/badge.tsx'
import { Button, IconButton } from '../../../ui/button.tsx'
import { Card } from '../../../ui/card.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { Note } from '../../../ui/note.tsx'
import { type ItemOf, useCall } from '../lib/api.ts'
import { useIsManager, useSession } from '../lib/session.tsx'
import { Ago } from '../ui/ago.tsx'
import { Asked, Page } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { InviteMember } from './member-invite.tsx'
import { RemoveMember } from './member-remove.tsx'
import { ChangeRole } from './member-role.tsx'

const { members } = words.settings

export type Member = ItemOf<'GET /members'>

type Doing = { kind: 'invite'; again?: Member } | { kind: 'role' | 'remove'; of: Member }

export function Members() {
  const isManager = useIsManager()
  const asked = useCall('GET /members', {}, { live: true })
  const [doing, setDoing] = useState<Doing>()
  const stop = () => setDoing(undefined)
  const invite = isManager && (
    <Button variant="primary" icon="plus" onClick={() => setDoing({ kind: 'invite' })}>
      {members.invite}
    </Button>
  )
  return (
    <Page title={members.title} lead={members.lead} actions={invite}>
      {!isManager && <Note>{members.onlyManagers}</Note>}
      <Asked query={asked}>{(all) => <MemberTable members={all} isManager={isManager} onDo={setDoing} />}</Asked>
      {doing?.kind === 'invite' && <InviteMember again={doing.again} onClose={stop} />}
      {doing?.kind === 'role' && <ChangeRole of={doing.of} onClose={stop} />}
      {doing?.kind === 'remove' && <RemoveMember of={doing.of} onClose={stop} />}
    </Page>
  )
}

type TableProps = { members: readonly Member[]; isManager: boolean; onDo: (doing: Doing) => void }

function MemberTable({ members: all, isManager, onDo }: TableProps) {
  return (
    <Card flush>
      <table className="table">
        <thead>
          <tr>
            <th>{members.name}</th>
            <th>{members.email}</th>
            <th>{members.role}</th>
            <th>{members.state}</th>
            <th>{members.joined}</th>
            {isManager && (
              <th>
                <span className="offscreen">{members.actions}</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {all.map((member) => (
            <Row key={member.id} of={member} isManager={isManager} onDo={onDo} />
          ))}
        </tbody>
      </table>
    </Card>
  )
}

function Row({ of: member, isManager, onDo }: { of: Member; isManager: boolean; onDo: TableProps['onDo'] }) {
  const session = useSession()
  const isMe = member.id === session.member.id
  const isInvited = member.state === 'invited'
  return (
    <tr>
      <td>
        <span className="settings-person">
          <Avatar name={member.name ?? member.email} size="small" />
          <strong>{member.name ?? <span className="soft">{members.nameless}</span>}</strong>
          {isMe && <Badge tone="accent">{members.you}</Badge>}
        </span>
      </td>
      <td data-label={members.email}>{member.email}</td>
      <td data-label={members.role} className="nowrap">
        {words.roles[member.role]}
      </td>
      <td data-label={members.state}>
        <Badge tone={isInvited ? 'amber' : 'green'}>{members.states[member.state]}</Badge>
      </td>
      <td data-label={isInvited ? members.invited : members.joined}>
        <Ago at={member.created_at} />
      </td>
      {isManager && (
        <td className="end">
          {(member.role !== 'owner' || session.role === 'owner') && <Deeds of={member} onDo={onDo} />}
        </td>
      )}
    </tr>
  )
}

/** What may be done with somebody who is a member, or to be one. */
function Deeds({ of: member, onDo }: { of: Member; onDo: TableProps['onDo'] }) {
  const label = members.actionsFor(member.name ?? member.email)
  const first =
    member.state === 'invited'
      ? { icon: 'link' as const, words: members.newLink, doing: { kind: 'invite' as const, again: member } }
      : { icon: 'shield' as const, words: members.changeRole, doing: { kind: 'role' as const, of: member } }
  return (
    <Menu
      label={label}
      button={(props) => <IconButton label={label} icon="more" size="small" {...props} />}
      items={[
        {
          label: (
            <>
              <Icon name={first.icon} />
              {first.words}
            </>
          ),
          onSelect: () => onDo(first.doing),
        },
        {
          label: (
            <>
              <Icon name="trash" />
              {member.state === 'invited' ? members.revokeInvitation : members.remove}
            </>
          ),
          danger: true,
          onSelect: () => onDo({ kind: 'remove', of: member }),
        },
      ]}
    />
  )
}
