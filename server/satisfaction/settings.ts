/** How a workspace asks its customers for a rating after an episode. A workspace without a row has the defaults, and does not ask. */
import { maxTagLength, readTagNames } from '../contacts/tags.ts'
import { badRequest } from '../lib/errors.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { inDocument, type Static, Type, Uuid } from '../lib/schema.ts'
import { fold, lengthOf } from '../lib/text.ts'
import { readParams, TemplateSchema } from '../messages/sending/requested-content.ts'

/** The titles of 1 to 5. A quick reply and a button have at most 20 characters. */
const ratingCount = 5
const maxTitle = 20
const maxText = 500
/** Of a text on the social channel. */
const maxBytes = 1_000
const maxDays = 365
const maxDelay = 86_400
const maxNames = 20
const maxIds = 100

const { name, language, params } = TemplateSchema.properties
const AskingTemplate = Type.Object({ name, language, params })

const Text = (maxLength: number, minLength: number, description: string) =>
  Type.String({ description, ...inDocument({ minLength, maxLength }) })
const Ids = (description: string) =>
  Type.Unsafe<string[] | null>({ type: ['array', 'null'], items: Uuid, minItems: 1, maxItems: maxIds, description })

export const SettingsSchema = Type.Object(
  {
    is_on: Type.Boolean({ description: 'Whether customers are asked.' }),
    question: Text(maxText, 1, 'What is asked.'),
    choices: Type.Array(Text(maxTitle, 1, 'A title.'), {
      minItems: ratingCount,
      maxItems: ratingCount,
      description: 'The titles of the ratings 1 to 5.',
    }),
    list_button: Text(maxTitle, 1, 'The label of the button that opens the list, on the channel with lists.'),
    thanks: Text(maxText, 0, 'Sent after a rating. Empty: nothing.'),
    comment_request: Text(
      maxText,
      0,
      'Sent with the thanks; the next text is then the comment. Empty: no comment is requested.',
    ),
    min_days: Type.Integer({ minimum: 1, maximum: maxDays, description: 'Days between two questions to a contact.' }),
    delay_seconds: Type.Integer({ minimum: 0, maximum: maxDelay, description: 'From the closing to the question.' }),
    template: Type.Unsafe<Static<typeof AskingTemplate> | null>({
      ...AskingTemplate,
      type: ['object', 'null'],
      description: 'Asks outside the reply window. Null: the customer is not asked there.',
    }),
    skip_labels: Type.Array(Type.String({ maxLength: 4 * maxTagLength }), {
      maxItems: maxNames,
      description: 'Names of labels. An episode that closed with one of them is not asked about.',
    }),
    connection_ids: Ids('Only episodes of these connections. Null: of all.'),
    team_ids: Ids('Only episodes of these teams. Null: of all, and those without a team.'),
  },
  { title: 'SatisfactionSettings' },
)

export type Settings = Static<typeof SettingsSchema>
export type SettingsChanges = { [Field in keyof Settings]?: Settings[Field] | undefined }

const defaults: Settings = {
  is_on: false,
  question: 'How satisfied are you with our service?',
  choices: ['1 · Very bad', '2 · Bad', '3 · Okay', '4 · Good', '5 · Very good'],
  list_button: 'Rate',
  thanks: 'Thank you for your feedback!',
  comment_request: '',
  min_days: 7,
  delay_seconds: 60,
  template: null,
  skip_labels: ['spam'],
  connection_ids: null,
  team_ids: null,
}

export async function readSettings(sql: Sql, workspaceId: string): Promise<Settings> {
  const [stored] = await sql<Settings[]>`
    select is_on, question, choices, list_button, thanks, comment_request, min_days, delay_seconds, template, skip_labels,
      connection_ids, team_ids
    from satisfaction_settings where workspace_id = ${workspaceId}`
  return stored ?? defaults
}

/** Episodes that closed before the workspace switches the questions on are not asked about. */
export async function changeSettings(sql: Sql, workspaceId: string, changes: SettingsChanges): Promise<Settings> {
  const before = await readSettings(sql, workspaceId)
  const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined))
  const settings = readFields({ ...before, ...given } as Settings)
  await requireKnown(sql, workspaceId, settings)
  const columns = { ...settings, template: settings.template && JSON.stringify(settings.template) }
  await sql`
    insert into satisfaction_settings as s (workspace_id, is_on, question, choices, list_button, thanks, comment_request, min_days,
      delay_seconds, template, skip_labels, connection_ids, team_ids, checked_until, updated_at)
    values (${workspaceId}, ${columns.is_on}, ${columns.question}, ${columns.choices}, ${columns.list_button}, ${columns.thanks},
      ${columns.comment_request}, ${columns.min_days}, ${columns.delay_seconds}, ${columns.template}::text::jsonb,
      ${columns.skip_labels}, ${columns.connection_ids}::uuid[], ${columns.team_ids}::uuid[], now(), now())
    on conflict (workspace_id) do update set
      is_on = excluded.is_on, question = excluded.question, choices = excluded.choices, list_button = excluded.list_button,
      thanks = excluded.thanks, comment_request = excluded.comment_request, min_days = excluded.min_days,
      delay_seconds = excluded.delay_seconds, template = excluded.template, skip_labels = excluded.skip_labels,
      connection_ids = excluded.connection_ids, team_ids = excluded.team_ids, updated_at = now(),
      checked_until = case when excluded.is_on and not s.is_on then now() else s.checked_until end`
  return readSettings(sql, workspaceId)
}

function readFields(input: Settings): Settings {
  const question = readText('question', input.question, 1)
  requireBytes('question', question)
  const thanks = readText('thanks', input.thanks, 0)
  const comment_request = readText('comment_request', input.comment_request, 0)
  requireBytes('comment_request', toThanks({ thanks, comment_request }), ' together with thanks')
  const choices = input.choices.map((choice, i) => readText(`choices[${i}]`, choice, 1, maxTitle))
  if (new Set(choices.map(fold)).size < ratingCount) throw badRequest('choices: must be different')
  return {
    ...input,
    ...{ question, thanks, comment_request, choices },
    list_button: readText('list_button', input.list_button, 1, maxTitle),
    skip_labels: [...readTagNames(input.skip_labels, 'skip_labels', maxNames).values()],
    template: input.template && { ...input.template, name: readText('template.name', input.template.name, 1, 512) },
  }
}

function readText(field: string, input: string, min: number, max = maxText): string {
  const text = input.trim()
  if (lengthOf(text) >= min && lengthOf(text) <= max) return text
  throw badRequest(`${field}: must have ${min > 0 ? `${min} to ${max}` : `at most ${max}`} characters`)
}

function requireBytes(field: string, text: string, more = ''): void {
  if (Buffer.byteLength(text) > maxBytes) throw badRequest(`${field}: must have at most ${maxBytes} bytes${more}`)
}

async function requireKnown(sql: Sql, workspaceId: string, { connection_ids, team_ids }: Settings): Promise<void> {
  const [known] = await sql<{ connections: string[]; teams: string[] }[]>`
    select
      array(select id::text from channel_connections where workspace_id = ${workspaceId}) as connections,
      array(select id::text from teams where workspace_id = ${workspaceId}) as teams`
  const isMissing = (ids: readonly string[] | null, all: readonly string[] = []) =>
    ids?.some((id) => !all.includes(id.toLowerCase()))
  if (isMissing(connection_ids, known?.connections))
    throw badRequest('connection_ids: not a connection of this workspace')
  if (isMissing(team_ids, known?.teams)) throw badRequest('team_ids: not a team of this workspace')
}

/** The message after a rating; empty: none. */
export const toThanks = ({ thanks, comment_request }: Pick<Settings, 'thanks' | 'comment_request'>): string =>
  [thanks, comment_request].filter((text) => text !== '').join('\n\n')

/** The request of the template that asks. Its values may have fields of the contact. */
export const toTemplate = ({ name, language = 'en_US', params }: NonNullable<Settings['template']>) => ({
  ...{ type: 'template' as const, name, language },
  ...{ params: readParams(params), contact_fields: true },
})
