/**
 * Invites a member. The service returns a link that works once within 7 days, and sends it by email if it can. The inviter sees the
 * link in any case, so a failed email loses nothing. A new invitation for the same address replaces the link.
 */
import { useState } from 'react'
import { InputField } from '../../../ui/controls.tsx'
import { Note } from '../../../ui/display.tsx'
import { useCall, useChange } from '../lib/api.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { useSession } from '../lib/session.tsx'
import { FormDialog, SecretDialog } from '../ui/dialogs.tsx'
import { AnchorButton } from '../ui/link-button.tsx'
import { words } from '../words/words.ts'
import { type Member, type Role, RoleChoice } from './member-role.tsx'

const { members } = words.settings

export function InviteMember({ existing, onClose }: { existing: Member | undefined; onClose: () => void }) {
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
