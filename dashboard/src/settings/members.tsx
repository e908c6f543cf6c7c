/** Members and invitations. Owners and admins manage them; only owners manage owners. The service enforces these rules. */
import { useState } from 'react'
import { Button, IconButton } from '../../../ui/controls.tsx'
import { Avatar, Badge, Card, Note } from '../../../ui/display.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { useCall } from '../lib/api.ts'
import { useIsManager, useSession } from '../lib/session.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { RelativeTime } from '../ui/time.tsx'
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
    <Button label={members.invite} variant="primary" icon="plus" onClick={() => setDialog({ kind: 'invite' })} />
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
  const session = useSession()
  const columns: (Column<Member> | false)[] = [
    {
      label: members.name,
      cell: ({ id, name, email }) => (
        <span className="settings-person">
          <Avatar name={name ?? email} size="small" />
          <strong className="cut">{name ?? <span className="soft">{members.nameless}</span>}</strong>
          {id === session.member.id && <Badge tone="accent">{members.you}</Badge>}
        </span>
      ),
    },
    { label: members.email, cell: ({ email }) => email },
    { label: members.role, cellClassName: 'nowrap', cell: ({ role }) => words.roles[role] },
    {
      label: members.state,
      cell: ({ state }) => <Badge tone={state === 'invited' ? 'amber' : 'green'}>{members.states[state]}</Badge>,
    },
    {
      label: members.secondFactor,
      cell: ({ state, has_second_factor: isOn }) =>
        state !== 'invited' && members.secondFactorStates[isOn ? 'on' : 'off'],
    },
    {
      label: members.joined,
      cellProps: ({ state }) => (state === 'invited' ? { 'data-label': members.invited } : {}),
      cell: ({ created_at }) => <RelativeTime at={created_at} />,
    },
    isManager && {
      label: members.actions,
      isLabelHidden: true,
      cellClassName: 'end',
      cell: (member) =>
        (member.role !== 'owner' || session.role === 'owner') && <MemberMenu member={member} onOpen={onOpen} />,
    },
  ]
  return (
    <Card flush>
      <Table rows={all} keyOf={({ id }) => id} columns={columns} />
    </Card>
  )
}

/** The menu of a member or an invitation. */
function MemberMenu({ member, onOpen }: { member: Member; onOpen: TableProps['onOpen'] }) {
  const { role } = useSession()
  const label = members.actionsFor(member.name ?? member.email)
  const isInvited = member.state === 'invited'
  const reset = {
    icon: 'key' as const,
    label: members.resetSecondFactor,
    onSelect: () => onOpen({ kind: 'second factor', member }),
  }
  return (
    <Menu
      label={label}
      button={<IconButton label={label} icon="more" size="small" />}
      items={[
        isInvited
          ? { icon: 'link', label: members.newLink, onSelect: () => onOpen({ kind: 'invite', existing: member }) }
          : { icon: 'shield', label: members.changeRole, onSelect: () => onOpen({ kind: 'role', member }) },
        ...(role === 'owner' && member.has_second_factor ? [reset] : []),
        {
          icon: 'trash',
          label: isInvited ? members.revokeInvitation : members.remove,
          danger: true,
          onSelect: () => onOpen({ kind: 'remove', member }),
        },
      ]}
    />
  )
}
