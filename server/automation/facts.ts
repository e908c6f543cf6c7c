/** What the steps of a run read about its contact, its conversation and its automation. */
import type { Sql } from '../lib/postgres/db.ts'
import type { ValuedContact } from '../messages/sending/values.ts'
import type { Run } from './runs.ts'

export type RunFacts = {
  /** The name of the automation. */
  automation: string
  /** Whether the automation waits for silence. */
  is_silence: boolean
  /** Sealed. */
  secret: string
  default_country: string
  /** Of the preview of an automation: its workspace. The workspace of the run has the id of the automation. */
  preview_of: string | null
  contact: ValuedContact
  is_opted_out: boolean
  /** The message of the customer that started the run. */
  message: { text: string | null; type: string } | undefined
}

type FactsRow = Omit<RunFacts, 'contact' | 'message'> & {
  contact: ValuedContact
  message: RunFacts['message'] | null
}

/** Undefined: the contact or the automation is gone. */
export async function readFacts(sql: Sql, run: Run): Promise<RunFacts | undefined> {
  const { workspace_id, automation_id, contact_id, conversation_id, message_id } = run
  const [row] = await sql<FactsRow[]>`
    select a.name as automation, a.kind = 'silence' as is_silence, a.secret, w.default_country, w.preview_of, c.opted_out_at is not null as is_opted_out,
      json_build_object('name', c.name, 'phone', c.phone, 'email', c.email, 'company', c.company, 'attributes', c.attributes) as contact, (
        select json_build_object('text', m.content_text, 'type', m.content_type) from messages m
        where m.workspace_id = ${workspace_id} and m.conversation_id = ${conversation_id} and m.id = ${message_id}
      ) as message
    from automations a
    join workspaces w on w.id = a.workspace_id
    join contacts c on c.workspace_id = a.workspace_id and c.id = ${contact_id}
    where a.workspace_id = ${workspace_id} and a.id = ${automation_id}`
  return row && { ...row, message: row.message ?? undefined }
}
