/** The tools of `parley mcp` for automations. Publishing needs a dry run, as sending does: a published automation writes to customers. */
import Type from 'typebox'
import type { Automation, Parley } from '../sdk/src/index.ts'
import { closedObject, defineTool, fetchPage, id, type Tool } from './mcp-tools.ts'
import { CommandError } from './target.ts'

const scope = 'automations:manage'

/** Of a dry run. An assistant reads the counts of all of them. */
const maxRuns = 20

const Outline = Type.Object({
  trigger: Type.Unknown({ description: 'What starts it.' }),
  conditions: Type.Unknown({ description: 'For whom. Null: for all.' }),
  steps: Type.Array(Type.Object({ path: Type.String(), depth: Type.Integer(), text: Type.String() }), {
    description: 'The steps in words, those within another step after it.',
  }),
})
const OptionalOutline = (description: string) =>
  Type.Unsafe<object | null>({ anyOf: [Outline, { type: 'null' }], description })

type Definition = Record<string, unknown>

async function describe(parley: Parley, input: Definition | null): Promise<object | null> {
  if (!input) return null
  const { definition, steps } = await parley.automations.check(input)
  const { trigger, conditions = null } = definition as Definition
  return { trigger, conditions, steps }
}

export const automationReadTools: readonly Tool[] = [
  defineTool({
    name: 'list_automations',
    title: 'List automations',
    operation: 'listAutomations',
    description: 'List all automations in the order in which they are tried, with their state and recent runs.',
    scope,
    input: closedObject({}),
    run: ({ parley }) => fetchPage(parley.automations.list()),
  }),
  defineTool({
    name: 'describe_automation',
    title: 'Describe an automation',
    description: 'Describe what an automation does, in words: its published version and its draft.',
    scope,
    input: closedObject({ id: id('automation') }),
    output: Type.Object({
      data: Type.Object({
        ...{ id: Type.String(), name: Type.String(), description: Type.String(), state: Type.String() },
        version: Type.Integer({ description: '0: never published.' }),
        published: OptionalOutline('What runs. Null: never published.'),
        draft: OptionalOutline('What a member edits. Null: there are no changes since the version.'),
      }),
    }),
    run: async ({ parley }, input) => {
      const { id, name, description, state, version, definition, draft } = await parley.automations.get(input.id)
      const outlines = { published: await describe(parley, definition), draft: await describe(parley, draft) }
      return { data: { id, name, description, state, version, ...outlines } }
    },
  }),
  defineTool({
    name: 'check_automation',
    title: 'Check a definition',
    operation: 'checkAutomation',
    description:
      'Check the definition of an automation and describe its steps. Changes nothing. An error begins with the path of the first fault.',
    scope,
    input: closedObject({
      definition: Type.Unsafe<Definition>({
        type: 'object',
        description: 'Trigger, conditions and steps: { "trigger": …, "conditions": …, "steps": […] }.',
      }),
    }),
    run: async ({ parley }, { definition }) => ({ data: await parley.automations.check(definition) }),
  }),
  defineTool({
    name: 'try_automation',
    title: 'Try an automation on the past',
    operation: 'dryRunAutomation',
    description:
      'Which conversations of the last days an automation would have touched and what it would have sent: its draft, else its published version, or another definition. Changes nothing and sends nothing. The notes say what it cannot know.',
    scope,
    input: closedObject({
      id: id('automation'),
      days: Type.Optional(Type.Integer({ minimum: 1, maximum: 7, description: 'The length of the past. Default: 7.' })),
      definition: Type.Optional(
        Type.Unsafe<Definition>({ type: 'object', description: 'Tried instead of what the service has.' }),
      ),
    }),
    run: async ({ parley }, { id, ...request }) => {
      const { runs, ...result } = await parley.automations.dryRun(id, request)
      return { data: { ...result, runs: runs.slice(0, maxRuns) } }
    },
  }),
]

const tool = 'publish_automation'

/** Tools that change something: they exist only with --allow-send. */
export const automationChangeTools: readonly Tool[] = [
  defineTool({
    name: tool,
    title: 'Publish an automation',
    description:
      'Publish the draft of an automation, or activate a paused one: it then writes to customers by itself. Call with dry_run: true first.',
    scope,
    change: 'send',
    input: closedObject({
      id: id('automation'),
      dry_run: Type.Optional(
        Type.Boolean({
          description: 'Set to true first. Shows what would be published and returns a confirmation_token.',
        }),
      ),
      confirmation_token: Type.Optional(
        Type.String({ description: 'The token of a dry run. Publishes what that dry run showed.' }),
      ),
    }),
    output: Type.Object({
      published: Type.Boolean(),
      name: Type.Optional(Type.String()),
      state: Type.Optional(Type.String({ description: 'Before publishing.' })),
      would_publish: Type.Optional(Outline),
      confirmation_token: Type.Optional(Type.String()),
      expires_in_seconds: Type.Optional(Type.Integer()),
      data: Type.Optional(Type.Object({}, { description: 'The automation.' })),
    }),
    run: async ({ parley, confirmations }, { id, dry_run, confirmation_token }) => {
      if (!dry_run && confirmation_token === undefined) {
        throw new CommandError(
          'not_confirmed',
          'Nothing was published. Call with dry_run: true first, then with its token.',
        )
      }
      const automation = await parley.automations.get(id)
      const definition = automation.draft ?? automation.definition
      // The token is for the definition that was shown: a draft that a member has changed since needs another dry run.
      const body = { id, definition }
      if (confirmation_token !== undefined && !dry_run) {
        const publish = (idempotencyKey: string) => parley.automations.publish(id, { idempotencyKey })
        return { published: true, data: await confirmations.use(confirmation_token, tool, body, publish) }
      }
      requireUnpublished(automation)
      const { name, state } = automation
      const would_publish = await describe(parley, definition)
      return { published: false, name, state, would_publish, ...confirmations.create(tool, body) }
    },
  }),
]

function requireUnpublished({ draft, state }: Automation): void {
  if (draft !== null || state === 'paused') return
  const reason = state === 'active' ? 'Its draft has no changes, and it is active.' : 'It has no definition.'
  throw new CommandError('nothing_to_publish', reason)
}
