/** Assignment: the policy of each team, and the capacity of each member. Owners and admins change them. */
import './assignment.css'
import { type KeyboardEvent, useEffect, useId, useState } from 'react'
import { Link } from 'wouter'
import { Input, Select } from '../../../ui/controls.tsx'
import { Avatar, Card, EmptyState, Note } from '../../../ui/display.tsx'
import { describeError, type ItemOf, useCall, useChange } from '../lib/api.ts'
import { useIsManager } from '../lib/session.tsx'
import { AvailabilityBadge } from '../ui/availability.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'
import { settingsWords } from '../words/settings.ts'

const { assignment: text } = settingsWords

type Team = ItemOf<'GET /assignment/teams'>
type Member = ItemOf<'GET /assignment/members'>

const policies = ['none', 'round_robin', 'fewest_open'] as const
const returnMinutes = [5, 10, 15, 30, 60, 120, 240]
/** The service counts queues up to this number. */
const maxQueued = 1_000
const maxCapacity = 200

export function Assignment() {
  const isManager = useIsManager()
  const teams = useCall('GET /assignment/teams', {}, { live: true })
  const members = useCall('GET /assignment/members', {}, { live: true })
  return (
    <Page title={text.title} lead={text.lead}>
      {!isManager && <Note>{text.onlyManagers}</Note>}
      <QueryView query={teams}>
        {(all) =>
          all.length === 0 ? (
            <Card>
              <EmptyState icon="contacts" title={text.noTeams} text={text.noTeamsText} />
            </Card>
          ) : (
            <TeamTable teams={all} isManager={isManager} />
          )
        }
      </QueryView>
      <QueryView query={members}>{(all) => <MemberTable members={all} isManager={isManager} />}</QueryView>
    </Page>
  )
}

function TeamTable({ teams, isManager }: { teams: readonly Team[]; isManager: boolean }) {
  return (
    <Card title={text.teams} flush>
      <Table
        className="settings-assignment"
        label={text.teams}
        rows={teams}
        keyOf={({ id }) => id}
        columns={[
          {
            label: text.name,
            cell: ({ name, color }) => (
              <span className="settings-person">
                <span className="settings-team-dot" style={{ background: color }} />
                <strong className="cut">{name}</strong>
              </span>
            ),
          },
          {
            label: text.queue,
            cell: ({ id, name, queued }) => (
              <Link href={`/inbox?team=${id}&assigned=nobody&sort=waiting`} aria-label={text.showQueue(name, queued)}>
                {text.queued(queued, queued >= maxQueued)}
              </Link>
            ),
          },
          {
            label: text.available,
            cell: ({ available_count, member_count }) => text.availableOf(available_count, member_count),
          },
          { label: text.policy, cell: (team) => <Policy key={team.policy} team={team} isManager={isManager} /> },
          {
            label: text.returns,
            cell: (team) => <Returns key={team.return_minutes} team={team} isManager={isManager} />,
          },
        ]}
      />
      <ul className="settings-hints soft small">
        {text.policyHints.map((hint) => (
          <li key={hint}>{hint}</li>
        ))}
      </ul>
    </Card>
  )
}

const useSavePolicy = () =>
  useChange('PATCH /assignment/teams/{id}', {
    stale: ['GET /assignment/teams'],
    done: ({ name }) => text.policySaved(name),
    reportsError: true,
  })

function Policy({ team: { id, name, policy }, isManager }: { team: Team; isManager: boolean }) {
  const save = useSavePolicy()
  if (!isManager) return text.policies[policy]
  return (
    <Select
      aria-label={text.policyOf(name)}
      options={policies.map((each) => [each, text.policies[each]] as const)}
      defaultValue={policy}
      disabled={save.isPending}
      onChange={({ target }) => {
        const chosen = policies.find((each) => each === target.value)
        save.mutate({ params: { id }, body: { policy: chosen } })
      }}
    />
  )
}

function Returns({ team: { id, name, return_minutes: minutes }, isManager }: { team: Team; isManager: boolean }) {
  const save = useSavePolicy()
  const textOf = (value: number | null) => (value === null ? text.stays : text.returnAfter(value))
  if (!isManager) return textOf(minutes)
  const known = minutes === null || returnMinutes.includes(minutes) ? returnMinutes : [minutes, ...returnMinutes]
  return (
    <Select
      aria-label={text.returnsOf(name)}
      options={[['', text.stays] as const, ...known.map((each) => [`${each}`, text.returnAfter(each)] as const)]}
      defaultValue={minutes ?? ''}
      disabled={save.isPending}
      onChange={({ target }) =>
        save.mutate({ params: { id }, body: { return_minutes: target.value ? Number(target.value) : null } })
      }
    />
  )
}

function MemberTable({ members, isManager }: { members: readonly Member[]; isManager: boolean }) {
  return (
    <Card title={text.members} flush>
      <Table
        className="settings-assignment"
        label={text.members}
        rows={members}
        keyOf={({ id }) => id}
        columns={[
          {
            label: text.member,
            cell: ({ name }) => (
              <span className="settings-person">
                <Avatar name={name} size="small" />
                <strong className="cut">{name}</strong>
              </span>
            ),
          },
          { label: text.availability, cell: ({ state }) => <AvailabilityBadge state={state} /> },
          { label: text.load, cell: ({ open }) => text.loadOf(open) },
          {
            label: text.capacity,
            cell: (member) => (isManager ? <Capacity member={member} /> : member.capacity),
          },
        ]}
      />
      <p className="settings-hints soft small">{text.capacityHint}</p>
    </Card>
  )
}

/** Saved when the member leaves the field or presses Enter. Escape restores the stored value. A refused value stays, with the reason. */
function Capacity({ member: { id, name, capacity } }: { member: Member }) {
  const [input, setInput] = useState(`${capacity}`)
  const [error, setError] = useState('')
  const errorId = useId()
  const save = useChange('PATCH /assignment/members/{id}', {
    stale: ['GET /assignment/members'],
    done: (saved) => text.capacitySaved(name, saved.capacity),
    onFailed: (reason) => setError(describeError(reason)),
  })
  const change = (value: string) => {
    setInput(value)
    setError('')
  }
  useEffect(() => {
    setInput(`${capacity}`)
    setError('')
  }, [capacity])
  const submit = () => {
    if (input === `${capacity}`) return
    const number = Number(input)
    if (input.trim() !== '' && Number.isInteger(number) && number >= 0 && number <= maxCapacity) {
      return save.mutate({ params: { id }, body: { capacity: number } })
    }
    setError(text.badCapacity)
  }
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Enter') submit()
    if (event.key === 'Escape') change(`${capacity}`)
  }
  return (
    <>
      <Input
        aria-label={text.capacityOf(name)}
        aria-invalid={error ? true : undefined}
        aria-describedby={error ? errorId : undefined}
        inputMode="numeric"
        autoComplete="off"
        maxLength={3}
        value={input}
        onChange={({ target }) => change(target.value)}
        onBlur={submit}
        onKeyDown={press}
      />
      {error && (
        <span className="settings-assignment-error" id={errorId} role="alert">
          {error}
        </span>
      )}
    </>
  )
}
