/**
 * Who sees the installation as a whole: the owners of one workspace. By default it is the first one, which is created by the holder
 * of the link that the service prints at its first start. `OPERATOR_WORKSPACE_ID` names another.
 */

import { forbidden } from '../lib/errors.ts'
import type { Sql } from '../lib/postgres/db.ts'
import type { Session } from './callers.ts'

/** Undefined: the first workspace. */
export type OperatorWorkspace = string | undefined

type Caller = Pick<Session, 'workspaceId' | 'member'>

export async function isOperator(
  sql: Sql,
  { workspaceId, member }: Caller,
  operatorWorkspace: OperatorWorkspace,
): Promise<boolean> {
  if (member.role !== 'owner') return false
  if (operatorWorkspace) return workspaceId === operatorWorkspace
  const [first] = await sql<{ id: string }[]>`select id from workspaces where preview_of is null order by id limit 1`
  return workspaceId === first?.id
}

export async function requireOperator(sql: Sql, session: Caller, operatorWorkspace: OperatorWorkspace): Promise<void> {
  if (await isOperator(sql, session, operatorWorkspace)) return
  throw forbidden('only owners of the workspace that operates the installation may do this')
}
