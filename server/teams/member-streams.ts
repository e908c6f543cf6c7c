/**
 * Reports the members with an open stream in this process: soon after a stream opens, and then as a heartbeat. A member whose last stream
 * closed is in one more heartbeat, so a page that reloads changes nothing. A member who signs out is offline at once.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Times } from '../../common/times.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { Health } from '../lib/process/health.ts'
import { type Loop, startRepeating } from '../lib/process/loop.ts'
import type { Signals } from '../signals/signals.ts'
import { leave, type MemberKey, reportMembers } from './availability.ts'

type MemberStreamsOptions = {
  db: Db
  log: FastifyBaseLogger
  health: Health
  signals: Pick<Signals, 'changed' | 'assignmentReady'>
  times: Times['availability']
}

/** A stream of the member has opened. Returns a function to call when it closes. */
type OnMemberStream = (member: MemberKey) => () => void

export type MemberStreams = Loop & { opened: OnMemberStream; signedOut(member: MemberKey): Promise<void> }

/** Members of one statement. */
const maxReported = 500
/** Streams that open together are reported together: after a restart all of them open within seconds. */
const togetherMs = 50

export function startMemberStreams(options: MemberStreamsOptions): MemberStreams {
  const { db, log, health, signals, times } = options
  const streams = new Map<string, { member: MemberKey; count: number; hasLeft?: boolean }>()
  let opening = new Map<string, MemberKey>()
  let timer: NodeJS.Timeout | undefined
  let reporting: Promise<void> | undefined

  async function report(members: readonly MemberKey[], isOpening: boolean): Promise<void> {
    for (let start = 0; start < members.length; start += maxReported) {
      const changed = await reportMembers(db, members.slice(start, start + maxReported), { isOpening }, times)
      signalAvailability(signals, changed)
    }
  }

  function reportOpening(): void {
    timer = undefined
    const members = [...opening.values()]
    opening = new Map()
    reporting = report(members, true)
      .catch((error) =>
        log.warn({ err: error }, 'open streams of members could not be stored; the next heartbeat tries again'),
      )
      .finally(() => {
        reporting = undefined
        if (opening.size > 0) timer ??= setTimeout(reportOpening, togetherMs)
      })
  }

  async function beat(): Promise<void> {
    const all = [...streams]
    await report(
      all.flatMap(([, { member, count, hasLeft }]) => (hasLeft && count === 0 ? [] : [member])),
      false,
    )
    for (const [key, stream] of all) if (stream.count === 0) streams.delete(key)
  }
  const beating = startRepeating({ name: 'member-streams', everyMs: times.beatMs, log, health, run: beat })

  return {
    opened(member) {
      const key = keyOf(member)
      const stream = streams.get(key) ?? { member, count: 0 }
      stream.count++
      stream.hasLeft = false
      streams.set(key, stream)
      opening.set(key, member)
      if (!reporting) timer ??= setTimeout(reportOpening, togetherMs)
      let isClosed = false
      return () => {
        if (!isClosed) stream.count--
        isClosed = true
      }
    },
    async signedOut(member) {
      const stream = streams.get(keyOf(member))
      if (stream) stream.hasLeft = true
      opening.delete(keyOf(member))
      signalAvailability(signals, await leave(db, member))
    },
    async stop() {
      clearTimeout(timer)
      await beating.stop()
      await reporting
    },
  }
}

const keyOf = ({ workspaceId, memberId }: MemberKey): string => `${workspaceId} ${memberId}`

/** The pages of their workspaces show the states, and the engine may have members to assign to. */
export function signalAvailability(
  signals: Pick<Signals, 'changed' | 'assignmentReady'>,
  changed: readonly MemberKey[],
): void {
  for (const workspaceId of new Set(changed.map(({ workspaceId }) => workspaceId))) signals.changed(workspaceId)
  if (changed.length > 0) signals.assignmentReady()
}
