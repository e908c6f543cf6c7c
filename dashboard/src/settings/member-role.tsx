/** Choosing and changing the role of a member. Only owners can choose the role owner. */
import { useId, useState } from 'react'
import { type ItemOf, useChange } from '../lib/api.ts'
import { fieldErrorOf } from '../lib/field-errors.ts'
import { useSession } from '../lib/session.tsx'
import { FormDialog } from '../ui/dialogs.tsx'
import { settingsWords } from '../words/settings.ts'
import { words } from '../words/words.ts'

const { members } = settingsWords

export type Member = ItemOf<'GET /members'>
export type Role = Member['role']

const roles: readonly Role[] = ['owner', 'admin', 'agent', 'viewer']

type ChoiceProps = { value: Role; onChange: (role: Role) => void; error?: string | undefined }

export function RoleChoice({ value, onChange, error }: ChoiceProps) {
  const { role: ownRole } = useSession()
  const name = useId()
  return (
    <fieldset className="column settings-roles" aria-describedby={error ? `${name}-error` : undefined}>
      <legend className="legend">{members.role}</legend>
      {roles.map((role) => {
        const isAllowed = role !== 'owner' || ownRole === 'owner'
        return (
          <label key={role} className="check" data-off={isAllowed ? undefined : ''}>
            <input
              type="radio"
              name={name}
              value={role}
              checked={role === value}
              disabled={!isAllowed}
              onChange={() => onChange(role)}
            />
            <span>
              <strong>{words.roles[role]}</strong>
              <small>{isAllowed ? members.roleTexts[role] : members.ownersOnly}</small>
            </span>
          </label>
        )
      })}
      {error && (
        <span className="error" id={`${name}-error`} role="alert">
          {error}
        </span>
      )}
    </fieldset>
  )
}

export function ChangeRole({ member, onClose }: { member: Member; onClose: () => void }) {
  const { id, name, email, role: current } = member
  const session = useSession()
  const [role, setRole] = useState(current)
  const displayName = name ?? email
  const change = useChange('PATCH /members/{id}', {
    // The session holds the member's own role.
    stale: ['GET /members', 'GET /session'],
    done: members.roleChanged(displayName, words.roles[role]),
    onDone: onClose,
  })
  return (
    <FormDialog
      title={members.changeRoleTitle(displayName)}
      action={members.saveRole}
      isBusy={change.isPending}
      onSubmit={() => (role === current ? onClose() : change.mutate({ params: { id }, body: { role } }))}
      onClose={onClose}
    >
      {id === session.member.id && <p className="soft">{members.ownRole}</p>}
      <RoleChoice value={role} onChange={setRole} error={fieldErrorOf(change.error, 'role')} />
    </FormDialog>
  )
}
