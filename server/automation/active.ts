/** The active automations of workspaces. A version never changes, so its definition is read once. */
import type { Sql } from '../lib/postgres/db.ts'
import type { Definition } from './definition.ts'
import { hasQuestions } from './steps.ts'

export type ActiveAutomation = {
  id: string
  name: string
  version: number
  has_questions: boolean
  definition: Definition
}

/** The definitions of versions, by automation and version: those used last. */
const definitions = new Map<string, Definition>()
const maxDefinitions = 2_000

/** In their order. */
export async function listActive(sql: Sql, workspaceId: string): Promise<ActiveAutomation[]> {
  const rows = await sql<Pick<ActiveAutomation, 'id' | 'name' | 'version'>[]>`
    select id, name, version from automations
    where workspace_id = ${workspaceId} and state = 'active'
    order by position, id`
  const active: ActiveAutomation[] = []
  for (const row of rows) {
    const definition = await getDefinition(sql, workspaceId, row.id, row.version)
    if (definition) active.push({ ...row, has_questions: hasQuestions(definition), definition })
  }
  return active
}

/** Undefined: the automation was deleted. */
export async function getDefinition(
  sql: Sql,
  workspaceId: string,
  automationId: string,
  version: number,
): Promise<Definition | undefined> {
  const key = `${automationId} ${version}`
  const known = definitions.get(key)
  if (known) {
    definitions.delete(key)
    definitions.set(key, known)
    return known
  }
  const [row] = await sql<{ definition: Definition }[]>`
    select definition::json as definition from automation_versions
    where workspace_id = ${workspaceId} and automation_id = ${automationId} and version = ${version}`
  if (!row) return undefined
  const [oldest] = definitions.keys()
  if (definitions.size >= maxDefinitions && oldest) definitions.delete(oldest)
  definitions.set(key, row.definition)
  return row.definition
}
