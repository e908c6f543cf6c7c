/** Members and invitations. Owners and admins manage them; only owners manage owners. The service enforces these rules. */
import { useState } from 'react'
import { Avatar } from '../../../ui/avatar.tsx'
import { Badge } from '../../../ui/badge.tsx'
import { Button, IconButton } from '../../../ui/button.tsx'
import { Card } from '../../../ui/card.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { Note } from '../../../ui/note.tsx'
import { useCall } from '../lib/api.ts'
import { useIsManager, useSession } from '../lib/session.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { RelativeTime } from '../ui/relative-time.tsx'
import { words } from '../words/words.ts'
import { InviteMember } from './member-invite.tsx'
import { RemoveMember } from './member-remove.tsx'
import { ChangeRole, type Member } from './member-role.tsx'
import { ResetSecondFactor } from './member-second-factor.tsx'

const { members } = words.settings

type OpenDialog = { kind: 'invite'; existing?: Member } | { kind: 'role' | 'remove' | 'second factor'; member: Member }

export function Members() {
  const isManager = useIsManager()
  const query = useCall('GET /members', {}, { live: true })
  const [dialog, setDialog] = useState<OpenDialog>()
  const close = () => setDialog(undefined)
  const invite = isManager && (
    <Button variant="primary" icon="plus" onClick={() => setDialog({ kind: 'invite' })}>
      {members.invite}
    </Button>
  )
  return (
    <Page title={members.title} lead={members.lead} actions={invite}>
      {!isManager && <Note>{members.onlyManagers}</Note>}
      <QueryView query={query}>
        {(all) => <MemberTable members={all} isManager={isManager} onOpen={setDialog} />}
      </QueryView>
      {dialog?.kind === 'invite' && <InviteMember existing={dialog.existing} onClose={close} />}
      {dialog?.kind === 'role' && <ChangeRole member={dialog.member} onClose={close} />}
      {dialog?.kind === 'second factor' && <ResetSecondFactor member={dialog.member} onClose={close} />}
      {dialog?.kind === 'remove' && <RemoveMember member={dialog.member} onClose={close} />}
    </Page>
  )
}

type TableProps = { members: readonly Member[]; isManager: boolean; onOpen: (dialog: OpenDialog) => void }

function MemberTable({ members: all, isManager, onOpen }: TableProps) {
  return (
    <Card flush>
      <table className="table">
        <thead>
          <tr>
            <th>{members.name}</th>
            <th>{members.email}</th>
            <th>{members.role}</th>
            <th>{members.state}</th>
            <th>{members.secondFactor}</th>
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
            <Row key={member.id} member={member} isManager={isManager} onOpen={onOpen} />
          ))}
        </tbody>
      </table>
    </Card>
  )
}

function Row({ member, isManager, onOpen }: { member: Member; isManager: boolean; onOpen: TableProps['onOpen'] }) {
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
      <td data-label={members.secondFactor}>
        {!isInvited && members.secondFactorStates[member.has_second_factor ? 'on' : 'off']}
      </td>
      <td data-label={isInvited ? members.invited : members.joined}>
        <RelativeTime at={member.created_at} />
      </td>
      {isManager && (
        <td className="end">
          {(member.role !== 'owner' || session.role === 'owner') && <MemberMenu member={member} onOpen={onOpen} />}
        </td>
      )}
    </tr>
  )
}

/** The menu of a member or an invitation. */
function MemberMenu({ member, onOpen }: { member: Member; onOpen: TableProps['onOpen'] }) {
  const { role } = useSession()
  const label = members.actionsFor(member.name ?? member.email)
  const first =
    member.state === 'invited'
      ? { icon: 'link' as const, label: members.newLink, dialog: { kind: 'invite' as const, existing: member } }
      : { icon: 'shield' as const, label: members.changeRole, dialog: { kind: 'role' as const, member } }
  return (
    <Menu
      label={label}
      button={<IconButton label={label} icon="more" size="small" />}
      items={[
        {
          label: (
            <>
              <Icon name={first.icon} />
              {first.label}
            </>
          ),
          onSelect: () => onOpen(first.dialog),
        },
        ...(role === 'owner' && member.has_second_factor
          ? [
              {
                label: (
                  <>
                    <Icon name="key" />
                    {members.resetSecondFactor}
                  </>
                ),
                onSelect: () => onOpen({ kind: 'second factor' as const, member }),
              },
            ]
          : []),
        {
          label: (
            <>
              <Icon name="trash" />
              {member.state === 'invited' ? members.revokeInvitation : members.remove}
            </>
          ),
          danger: true,
          onSelect: () => onOpen({ kind: 'remove', member }),
        },
      ]}
    />
  )
}
