/** Teams with their members and connections, and which conversations agents and viewers see. Owners and admins change them. */
import { useState } from 'react'
import { Link } from 'wouter'
import { Button, Checkbox, Form, IconButton, InputField, SelectField } from '../../../ui/controls.tsx'
import { Card, EmptyState, Note } from '../../../ui/display.tsx'
import { type ItemOf, useCall, useChange } from '../lib/api.ts'
import { describeConnection, useConnections } from '../lib/connections.ts'
import { fieldErrorsOf } from '../lib/field-errors.ts'
import { memberName } from '../lib/people.ts'
import { useIsManager } from '../lib/session.tsx'
import { ConfirmCall, FormDialog } from '../ui/dialogs.tsx'
import { LabelChip } from '../ui/label.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'
import { settingsWords } from '../words/settings.ts'
import { words } from '../words/words.ts'
import { ColorPicker, colors } from './color-picker.tsx'
import { isDifferent, SaveRow } from './save-row.tsx'

const { teams: texts } = settingsWords

type Team = ItemOf<'GET /teams'>

/** The queries that show teams. */
const teamQueries = ['GET /teams', 'GET /conversations', 'GET /conversations/{id}', 'GET /inbox/counts'] as const

export function Teams() {
  const query = useCall('GET /teams', {})
  const isManager = useIsManager()
  const [editing, setEditing] = useState<Team | 'new'>()
  const [deleting, setDeleting] = useState<Team>()
  const add = isManager && <Button label={texts.add} variant="primary" icon="plus" onClick={() => setEditing('new')} />
  return (
    <Page title={texts.title} lead={texts.lead} actions={add}>
      {!isManager && <Note>{words.common.onlyManagers}</Note>}
      <QueryView query={query}>
        {(all) =>
          all.length === 0 ? (
            <Card>
              <EmptyState icon="teams" title={texts.empty} text={texts.emptyText} action={add} />
            </Card>
          ) : (
            <TeamTable teams={all} onEdit={setEditing} onDelete={setDeleting} />
          )
        }
      </QueryView>
      <Visibility />
      {editing && (
        <TeamForm
          team={editing === 'new' ? undefined : editing}
          teams={query.data ?? []}
          onClose={() => setEditing(undefined)}
        />
      )}
      {deleting && <DeleteTeam team={deleting} onClose={() => setDeleting(undefined)} />}
    </Page>
  )
}

type TableProps = { teams: readonly Team[]; onEdit: (team: Team) => void; onDelete: (team: Team) => void }

function TeamTable({ teams, onEdit, onDelete }: TableProps) {
  const isManager = useIsManager()
  const members = useCall('GET /members', {}).data ?? []
  const connections = useConnections()
  const namesOf = (names: readonly string[]) => names.join(', ') || texts.none
  return (
    <Card flush>
      <Table
        className="settings-labels"
        isCompact
        rows={teams}
        keyOf={({ id }) => id}
        columns={[
          {
            label: texts.name,
            cell: ({ id, name, color }) => (
              <Link href={`/inbox?team=${id}`} aria-label={texts.show(name)}>
                <LabelChip name={name} color={color} />
              </Link>
            ),
          },
          {
            label: texts.members,
            cell: ({ member_ids: ids }) => namesOf(members.filter(({ id }) => ids.includes(id)).map(memberName)),
          },
          {
            label: texts.connections,
            cell: ({ connection_ids: ids }) =>
              namesOf(connections.filter(({ id }) => ids.includes(id)).map(({ name }) => name)),
          },
          isManager && {
            label: texts.actions,
            isLabelHidden: true,
            cellClassName: 'end nowrap',
            cell: (team) => (
              <>
                <IconButton label={texts.edit(team.name)} icon="edit" onClick={() => onEdit(team)} />
                <IconButton label={texts.remove(team.name)} icon="trash" onClick={() => onDelete(team)} />
              </>
            ),
          },
        ]}
      />
    </Card>
  )
}

type FormProps = {
  /** Undefined: a new one. */
  team: Team | undefined
  teams: readonly Team[]
  onClose: () => void
}

/** The dialog to add a team, or to change it. */
function TeamForm({ team, teams, onClose }: FormProps) {
  const [name, setName] = useState(team?.name ?? '')
  const [color, setColor] = useState(team?.color ?? colors[teams.length % colors.length] ?? '')
  const [memberIds, setMemberIds] = useState<readonly string[]>(team?.member_ids ?? [])
  const [connectionIds, setConnectionIds] = useState<readonly string[]>(team?.connection_ids ?? [])
  const members = (useCall('GET /members', {}).data ?? []).filter(
    ({ state, role }) => state === 'active' && role !== 'viewer',
  )
  const connections = useConnections()
  const create = useChange('POST /teams', {
    stale: teamQueries,
    done: (created) => texts.added(created.name),
    onDone: onClose,
  })
  const update = useChange('PATCH /teams/{id}', {
    stale: teamQueries,
    done: (saved) => texts.saved(saved.name),
    onDone: onClose,
  })
  const errors = fieldErrorsOf(create.error ?? update.error, ['name', 'member_ids', 'connection_ids'])
  const submit = () => {
    const body = { name: name.trim(), color, member_ids: [...memberIds], connection_ids: [...connectionIds] }
    if (team) update.mutate({ params: { id: team.id }, body })
    else create.mutate({ body })
  }
  const otherTeamOf = (id: string) => teams.find((one) => one.id !== team?.id && one.connection_ids.includes(id))
  return (
    <FormDialog
      title={team ? texts.editTitle(team.name) : texts.add}
      className="stack settings-form"
      action={team ? words.common.save : texts.add}
      isBusy={create.isPending || update.isPending}
      error={errors.member_ids ?? errors.connection_ids ?? errors.rest}
      onSubmit={submit}
      onClose={onClose}
    >
      <InputField
        label={texts.name}
        error={errors.name}
        required
        maxLength={80}
        autoComplete="off"
        dir="auto"
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <ColorPicker value={color} onChange={setColor} />
      <Choices
        label={texts.members}
        hint={members.length > 0 ? texts.membersHint : texts.noMembers}
        choices={members.map((one) => ({ id: one.id, text: memberName(one), isTaken: false }))}
        chosen={memberIds}
        onChange={setMemberIds}
      />
      <Choices
        label={texts.connections}
        hint={connections.length > 0 ? texts.connectionsHint : texts.noConnections}
        choices={connections.map((one) => {
          const other = otherTeamOf(one.id)
          const text = describeConnection(one)
          return { id: one.id, text: other ? texts.servedBy(text, other.name) : text, isTaken: other !== undefined }
        })}
        chosen={connectionIds}
        onChange={setConnectionIds}
      />
    </FormDialog>
  )
}

type ChoicesProps = {
  label: string
  hint: string
  choices: readonly { id: string; text: string; isTaken: boolean }[]
  chosen: readonly string[]
  onChange: (chosen: readonly string[]) => void
}

function Choices({ label, hint, choices, chosen, onChange }: ChoicesProps) {
  return (
    <fieldset className="settings-team-choices">
      <legend className="label">{label}</legend>
      <p className="soft small">{hint}</p>
      {choices.map(({ id, text, isTaken }) => (
        <Checkbox
          key={id}
          label={text}
          checked={chosen.includes(id)}
          disabled={isTaken}
          onChange={(event) => onChange(event.target.checked ? [...chosen, id] : chosen.filter((one) => one !== id))}
        />
      ))}
    </fieldset>
  )
}

function DeleteTeam({ team: { id, name }, onClose }: { team: Team; onClose: () => void }) {
  return (
    <ConfirmCall
      title={texts.removeTitle(name)}
      action={texts.removeAction}
      call="DELETE /teams/{id}"
      input={{ params: { id } }}
      stale={teamQueries}
      done={texts.removed(name)}
      danger
      onClose={onClose}
    >
      <p>{texts.removeText}</p>
    </ConfirmCall>
  )
}

/** Which conversations agents and viewers see. */
function Visibility() {
  const query = useCall('GET /workspace', {})
  return (
    <Card title={texts.visibility}>
      <p className="soft">{texts.visibilityLead}</p>
      <QueryView query={query}>{(stored) => <VisibilityForm stored={stored} />}</QueryView>
      <p className="soft small">{texts.contactsStay}</p>
    </Card>
  )
}

type Sees = keyof typeof texts.sees
const sees = Object.keys(texts.sees) as Sees[]
const options = sees.map((each) => [each, texts.sees[each]] as const)

function VisibilityForm({ stored }: { stored: { agents_see: Sees; viewers_see: Sees } }) {
  const isManager = useIsManager()
  const save = useChange('PATCH /workspace', {
    stale: ['GET /workspace'],
    done: words.common.saved,
    reportsError: true,
  })
  const [body, setBody] = useState({ agents_see: stored.agents_see, viewers_see: stored.viewers_see })
  const choose = (name: keyof typeof body, value: string) =>
    setBody((now) => ({ ...now, [name]: sees.find((each) => each === value) ?? now[name] }))
  return (
    <Form className="stack settings-form" onSubmit={() => save.mutate({ body })}>
      <SelectField
        label={texts.agents}
        options={options}
        disabled={!isManager}
        value={body.agents_see}
        onChange={({ target }) => choose('agents_see', target.value)}
      />
      <SelectField
        label={texts.viewers}
        options={options}
        disabled={!isManager}
        value={body.viewers_see}
        onChange={({ target }) => choose('viewers_see', target.value)}
      />
      {isManager && <SaveRow isBusy={save.isPending} isChanged={isDifferent(body, stored)} />}
    </Form>
  )
}
