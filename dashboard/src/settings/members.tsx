/** Members and invitations. Owners and admins manage them; only owners manage owners. The service enforces these rules. */
import { useState } from 'react'
import { Button, IconButton, InputField } from '../../../ui/controls.tsx'
import { Avatar, Badge, Card, Note } from '../../../ui/display.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { type ItemOf, useCall, useChange } from '../lib/api.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { useIsManager, useSession } from '../lib/session.tsx'
import { AvailabilityBadge } from '../ui/availability.tsx'
import { ConfirmCall, FormDialog, SecretDialog } from '../ui/dialogs.tsx'
import { AnchorButton } from '../ui/link-button.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { settingsWords } from '../words/settings.ts'
import { words } from '../words/words.ts'
import { ChangeRole, type Member, type Role, RoleChoice } from './member-role.tsx'

const { members } = settingsWords

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
  const loads = new Map(useCall('GET /assignment/members', {}, { live: true }).data?.map((one) => [one.id, one]))
  const columns: (Column<Member> | false)[] = [
    {
      label: members.name,
      cell: ({ id, name, email }) => (
        <span className="settings-person">
          <Avatar name={name ?? email} size="small" />
          <span className="column settings-person-text">
            <span className="line">
              <strong className="cut">{name ?? <span className="soft">{members.nameless}</span>}</strong>
              {id === session.member.id && <Badge tone="accent">{members.you}</Badge>}
            </span>
            <small className="soft cut" title={email}>
              {email}
            </small>
          </span>
        </span>
      ),
    },
    { label: members.role, narrow: 'plain', cellClassName: 'nowrap', cell: ({ role }) => words.roles[role] },
    {
      label: members.state,
      narrow: 'plain',
      cell: ({ state }) => <Badge tone={state === 'invited' ? 'amber' : 'green'}>{members.states[state]}</Badge>,
    },
    {
      label: members.availability,
      narrow: 'plain',
      cellClassName: 'nowrap',
      cell: ({ id }) => <Load load={loads.get(id)} />,
    },
    {
      label: members.secondFactor,
      className: 'minor',
      cell: ({ state, has_second_factor: isOn }) =>
        state !== 'invited' && members.secondFactorStates[isOn ? 'on' : 'off'],
    },
    {
      label: members.joined,
      className: 'minor',
      cellClassName: 'nowrap',
      cell: ({ state, created_at }) => (
        <>
          {state === 'invited' && `${members.invited} `}
          <RelativeTime at={created_at} />
        </>
      ),
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
      <Table className="settings-people" isCompact rows={all} keyOf={({ id }) => id} columns={columns} />
    </Card>
  )
}

/** Viewers and invited people have none. */
const Load = ({ load }: { load: ItemOf<'GET /assignment/members'> | undefined }) =>
  load && (
    <span className="line settings-load">
      <AvailabilityBadge state={load.state} />
      <small className="soft">{members.load(load.open, load.capacity)}</small>
    </span>
  )

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
      button={<IconButton label={label} icon="more" />}
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

/** An owner resets the two-step sign-in of a member who lost the phone and the recovery codes. */
const ResetSecondFactor = ({ member, onClose }: { member: Member; onClose: () => void }) => (
  <ConfirmCall
    title={members.resetSecondFactorTitle(member.name ?? member.email)}
    text={members.resetSecondFactorText}
    action={members.resetSecondFactorAction}
    danger
    call="DELETE /members/{id}/second-factor"
    input={{ params: { id: member.id } }}
    stale={['GET /members', 'GET /profile/second-factor', 'GET /session']}
    done={members.secondFactorReset(member.name ?? member.email)}
    onClose={onClose}
  />
)

/** Removes a member, which ends their sessions, or revokes an invitation. */
function RemoveMember({ member: { id, name, email, state }, onClose }: { member: Member; onClose: () => void }) {
  const session = useSession()
  const displayName = name ?? email
  const isInvited = state === 'invited'
  const isMe = id === session.member.id
  return (
    <ConfirmCall
      title={isInvited ? members.revokeInvitationTitle(displayName) : members.removeTitle(displayName)}
      text={isInvited ? members.revokeInvitationText : isMe ? members.removeMeText : members.removeText}
      action={isInvited ? members.revokeInvitationAction : members.removeAction}
      danger
      call="DELETE /members/{id}"
      input={{ params: { id } }}
      stale={isMe ? ['GET /session'] : ['GET /members']}
      done={isInvited ? members.invitationRevoked(displayName) : members.removed(displayName)}
      onClose={onClose}
    />
  )
}

/**
 * Invites a member. The service returns a link that works once within 7 days, and sends it by email if it can. The inviter sees the
 * link in any case, so a failed email loses nothing. A new invitation for the same address replaces the link.
 */
function InviteMember({ existing, onClose }: { existing: Member | undefined; onClose: () => void }) {
  const { workspace } = useSession()
  const [role, setRole] = useState<Role>(existing?.role ?? 'agent')
  const invite = useChange('POST /members', { stale: ['GET /members'] })
  const { values, errors, bind } = useFormFields({ email: existing?.email ?? '' }, invite.error, ['role'])
  const sendsEmail = useCall('GET /setup', {}).data?.sends_email
  if (invite.data) {
    const { email: to, invitation_url: link, email_status: status, email_error: reason } = invite.data
    const mail = new URLSearchParams({ subject: members.mailSubject(workspace.name), body: members.mailBody(link) })
    return (
      <SecretDialog
        title={members.linkTitle(to)}
        warning={
          <>
            {status === 'failed' && <p>{members.mailFailed(to, reason ?? '')}</p>}
            <p>{status === 'sent' ? members.mailSent(to) : members.linkText(to)}</p>
          </>
        }
        secret={link}
        done={members.linkDone}
        onDone={onClose}
      >
        {status !== 'sent' && (
          <p>
            {/* URLSearchParams encodes a space as +, which email programs show literally. */}
            <AnchorButton
              label={members.mail}
              size="small"
              icon="mail"
              href={`mailto:${encodeURIComponent(to)}?${mail.toString().replaceAll('+', '%20')}`}
            />
          </p>
        )}
      </SecretDialog>
    )
  }
  return (
    <FormDialog
      title={existing ? members.newLinkTitle : members.inviteTitle}
      action={sendsEmail ? members.sendInvitation : members.createLink}
      isBusy={invite.isPending}
      isHeld
      onSubmit={() => invite.mutate({ body: { ...values, role } })}
      onClose={onClose}
    >
      {existing && <p className="soft">{members.newLinkText}</p>}
      <InputField
        label={members.email}
        type="email"
        required
        autoComplete="off"
        readOnly={existing !== undefined}
        {...bind('email')}
      />
      <RoleChoice value={role} onChange={setRole} error={errors.role ?? errors.rest} />
      {sendsEmail !== undefined && <Note icon="mail">{sendsEmail ? members.willMail : members.noMail}</Note>}
    </FormDialog>
  )
}
