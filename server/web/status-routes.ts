/** `/status`: the status of the installation, for its operator. */

import { type OperatorWorkspace, requireOperator } from '../accounts/operator.ts'
import { type Row, row } from '../accounts/table.ts'
import type { Db } from '../lib/postgres/db.ts'
import { DateTime, NullableDateTime, NullableText, OneOf, type Static, type TSchema, Type } from '../lib/schema.ts'
import { type Backups, createStatus, parts, queueNames } from './status.ts'

const Count = Type.Integer({ minimum: 0 })
const Amount = Type.Number()
const NullableAmount = Type.Unsafe<number | null>({ type: ['number', 'null'] })
const OrNull = <Schema extends TSchema>(schema: Schema & { type: string }) =>
  Type.Unsafe<Static<Schema> | null>({ ...schema, type: [schema.type, 'null'] })

const BackupView = Type.Object({ folder: Type.String(), created_at: DateTime, files: Count, bytes: Count })

const StatusView = Type.Object({
  checked_at: DateTime,
  problems: Type.Array(
    Type.Object({
      alert: Type.String({ description: 'The name of the alert rule, and of the section in docs/alerts.md.' }),
      where: NullableText(),
      severity: OneOf(['page', 'ticket']),
      summary: Type.String(),
      advice: Type.String(),
    }),
  ),
  unknown: Type.Array(Type.Object({ part: OneOf(parts), reason: Type.String() })),
  queues: OrNull(Type.Array(Type.Object({ name: OneOf(queueNames), count: Count, oldest_seconds: NullableAmount }))),
  processes: OrNull(
    Type.Array(
      Type.Object({
        service: Type.String(),
        process: Type.String(),
        version: Type.String(),
        started_at: DateTime,
        reported_at: DateTime,
        is_silent: Type.Boolean(),
        restarts: Count,
        memory_bytes: Count,
        loops: Type.Array(
          Type.Object({ name: Type.String(), succeeded_at: NullableDateTime, is_failing: Type.Boolean() }),
        ),
      }),
    ),
  ),
  disks: OrNull(
    Type.Array(
      Type.Object({
        service: Type.String(),
        folder: Type.String(),
        free_bytes: Amount,
        total_bytes: Amount,
        is_full: Type.Boolean(),
        is_nearly_full: Type.Boolean(),
      }),
    ),
  ),
  delays: OrNull(
    Type.Object({ search_seconds: NullableAmount, search_pending_pages: NullableAmount, clock_seconds: Amount }),
  ),
  database: OrNull(
    Type.Object({
      version: Type.String(),
      size_bytes: Amount,
      connections: Count,
      max_connections: Count,
      migration: Type.String(),
      is_migrated: Type.Boolean(),
      standbys: Count,
      replication_seconds: NullableAmount,
    }),
  ),
  backup: OrNull(Type.Object({ is_embedded: Type.Boolean(), last: OrNull(BackupView) })),
})

type StatusContext = { db: Db; backups: Backups | undefined; operatorWorkspace: OperatorWorkspace }

export function statusTable({ db, backups, operatorWorkspace }: StatusContext): readonly Row[] {
  const readStatus = createStatus(db, backups)
  return [
    row({
      call: 'GET /status',
      members: ['owner'],
      data: StatusView,
      run: async ({ caller }) => {
        await requireOperator(db, caller, operatorWorkspace)
        return readStatus()
      },
    }),
  ]
}
