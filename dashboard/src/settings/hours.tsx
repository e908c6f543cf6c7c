/** The office hours: a list of schedules with what is open now. Owners and admins open one to edit it. */
import './hours.css'
import { useEffect, useRef, useState } from 'react'
import { Redirect, Route, Switch, useLocation } from 'wouter'
import { IconButton } from '../../../ui/controls.tsx'
import { Badge, Card, EmptyState } from '../../../ui/display.tsx'
import { type DataOf, useCall } from '../lib/api.ts'
import { describeConnection, useConnections } from '../lib/connections.ts'
import { useNow } from '../lib/hooks.ts'
import { useIsManager } from '../lib/session.tsx'
import { ConfirmCall } from '../ui/dialogs.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { settingsWords } from '../words/settings.ts'
import { describeNow, describeWeek, type StoredSchedule } from './hours-text.ts'
import { ScheduleForm } from './schedule-form.tsx'

const { hours: text } = settingsWords

const path = '/settings/hours'

export function Hours() {
  const isManager = useIsManager()
  const [, navigate] = useLocation()
  const [savedId, setSavedId] = useState<string>()
  const showSaved = (id: string) => {
    setSavedId(id)
    navigate(path, { replace: true })
  }
  return (
    <Switch>
      <Route path={path}>
        <ScheduleList savedId={savedId} onSavedShown={() => setSavedId(undefined)} />
      </Route>
      {isManager && (
        <Route path={`${path}/new`}>
          <SchedulePage onSaved={showSaved} />
        </Route>
      )}
      {isManager && (
        <Route path={`${path}/:id`}>{({ id }) => <SchedulePage key={id} id={id} onSaved={showSaved} />}</Route>
      )}
      <Route>
        <Redirect to={path} replace />
      </Route>
    </Switch>
  )
}

type ListProps = {
  /** The schedule that was just saved. Its link gets the focus. */
  savedId: string | undefined
  onSavedShown: () => void
}

function ScheduleList({ savedId, onSavedShown }: ListProps) {
  const query = useCall('GET /schedules', {}, { live: true })
  const isManager = useIsManager()
  const [deleting, setDeleting] = useState<StoredSchedule>()
  const add = isManager && <LinkButton label={text.add} variant="primary" icon="plus" href={`${path}/new`} />
  return (
    <Page title={text.title} lead={text.lead} actions={add}>
      <QueryView query={query}>
        {(all) =>
          all.length === 0 ? (
            <Card>
              <EmptyState icon="clock" title={text.empty} text={text.emptyText} action={add} />
            </Card>
          ) : (
            <Card flush>
              <ul className="hours-list lined">
                {all.map((schedule) => (
                  <ScheduleRow
                    key={schedule.id}
                    schedule={schedule}
                    onDelete={() => setDeleting(schedule)}
                    onFocus={schedule.id === savedId ? onSavedShown : undefined}
                  />
                ))}
              </ul>
            </Card>
          )
        }
      </QueryView>
      {deleting && (
        <ConfirmCall
          title={text.removeTitle(deleting.name)}
          text={text.removeText}
          action={text.removeAction}
          danger
          call="DELETE /schedules/{id}"
          input={{ params: { id: deleting.id } }}
          stale={['GET /schedules']}
          done={text.removed(deleting.name)}
          onClose={() => setDeleting(undefined)}
        />
      )}
    </Page>
  )
}

type RowProps = {
  schedule: StoredSchedule
  onDelete: () => void
  /** Given: the row takes the focus. */
  onFocus: (() => void) | undefined
}

function ScheduleRow({ schedule, onDelete, onFocus }: RowProps) {
  const isManager = useIsManager()
  const row = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (!onFocus) return
    row.current?.querySelector('a')?.focus()
    onFocus()
  }, [onFocus])
  const now = describeNow(schedule, useNow(30_000))
  const teams = useCall('GET /teams', {}).data ?? []
  const connections = useConnections()
  const { id, name, time_zone: zone, holidays, is_default: isDefault } = schedule
  const users = [
    ...(isDefault ? [text.workspace] : []),
    ...teams.filter((team) => schedule.team_ids.includes(team.id)).map((team) => team.name),
    ...connections.filter((one) => schedule.connection_ids.includes(one.id)).map(describeConnection),
  ]
  return (
    <li ref={row}>
      <span className="grow column">
        <span className="row">
          <strong dir="auto">{name}</strong>
          {isDefault && <Badge>{text.default}</Badge>}
          <Badge tone={now.isOpen ? 'green' : 'amber'}>{now.text}</Badge>
        </span>
        <span>{describeWeek(schedule.periods)}</span>
        <span className="soft small">
          {[zone.replaceAll('_', ' '), ...(holidays.length > 0 ? [text.holidayCount(holidays.length)] : [])].join(
            ' · ',
          )}
        </span>
        <span className="soft small">{text.usedBy(users)}</span>
      </span>
      {isManager && (
        <>
          <LinkButton label={text.editAction} aria-label={text.edit(name)} size="small" href={`${path}/${id}`} />
          <IconButton label={text.remove(name)} icon="trash" onClick={onDelete} />
        </>
      )}
    </li>
  )
}

/** Without an id: a new one. */
function SchedulePage({ id, onSaved }: { id?: string; onSaved: (id: string) => void }) {
  const query = useCall('GET /schedules', {}, { isKept: false })
  const workspace = useCall('GET /workspace', {})
  const back = { href: path, label: text.title }
  return (
    <QueryView query={query}>
      {(all) => {
        const stored = all.find((schedule) => schedule.id === id)
        if (id && !stored) {
          const { title, text: reason, label } = text.notFound
          const action = <LinkButton label={label} href={path} />
          return <EmptyState icon="search" title={title} text={reason} action={action} isPage />
        }
        return (
          <QueryView query={workspace}>
            {({ time_zone }: DataOf<'GET /workspace'>) => (
              <Page title={stored?.name ?? text.newTitle} back={back}>
                <ScheduleForm stored={stored} all={all} timeZone={time_zone} onSaved={onSaved} />
              </Page>
            )}
          </QueryView>
        )
      }}
    </QueryView>
  )
}
