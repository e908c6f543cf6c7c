/**
 * Invite somebody. Parley sends no mail: it makes a link that works once, for
 * a week, and whoever invites sends it on. Inviting again makes a new link,
 * and the old one stops working.
 */
import { type FormEvent, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { Field, Input } from '../../../ui/form.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { Note } from '../../../ui/note.tsx'
import { useChange } from '../lib/api.ts'
import { faultsOf } from '../lib/faults.ts'
import { useSession } from '../lib/session.tsx'
import { ShownOnce } from '../ui/shown-once.tsx'
import { words } from '../words/words.ts'
import { type Role, RoleChoice } from './member-role.tsx'
import type { Member } from './members.tsx'

const { members } = words.settings

export function InviteMember({ again, onClose }: { again: Member | undefined; onClose: () => void }) {
  const { workspace } = useSession()
  const [email, setEmail] = useState(again?.email ?? '')
  const [role, setRole] = useState<Role>(again?.role ?? 'agent')
  const invite = useChange('POST /members', { stale: ['GET /members'] })
  if (invite.data) {
    const { email: to, invitation_url: link } = invite.data
    const mail = new URLSearchParams({ subject: members.mailSubject(workspace.name), body: members.mailBody(link) })
    return (
      <ShownOnce
        title={members.linkTitle(to)}
        warning={<p>{members.linkText(to)}</p>}
        secret={link}
        done={members.linkDone}
        onDone={onClose}
      >
        <p>
          {/* URLSearchParams writes a blank as +, which mail programs take literally. */}
          <a
            className="button"
            href={`mailto:${encodeURIComponent(to)}?${mail.toString().replaceAll('+', '%20')}`}
            data-size="small"
          >
            <Icon name="mail" />
            {members.mail}
          </a>
        </p>
      </ShownOnce>
    )
  }
  const faults = faultsOf(invite.error, ['email', 'role'])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    invite.mutate({ body: { email, role } })
  }
  return (
    <Dialog title={again ? members.newLinkTitle : members.inviteTitle} onClose={() => !invite.isPending && onClose()}>
      <form onSubmit={submit}>
        {again && <p className="soft">{members.newLinkText}</p>}
        <Field label={members.email} fault={faults.email}>
          {(wiring) => (
            <Input
              {...wiring}
              type="email"
              required
              autoComplete="off"
              readOnly={again !== undefined}
              value={email}
              onChange={(event) => setEmail(event.target.value)}
            />
          )}
        </Field>
        <RoleChoice value={role} onChange={setRole} fault={faults.role ?? faults.rest} />
        <Note icon="mail">{members.noMail}</Note>
        <div className="dialog-foot">
          <Button onClick={onClose} disabled={invite.isPending}>
            {words.common.cancel}
          </Button>
          <Button type="submit" variant="primary" busy={invite.isPending}>
            {members.createLink}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
