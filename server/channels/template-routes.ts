/** `/templates`: the templates of the primary channel, with the values that a send needs; for members as the provider has them. */
import { managers, roles } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import type { Sealer } from '../lib/crypto.ts'
import { ApiError, notFound } from '../lib/errors.ts'
import type { Db } from '../lib/postgres/db.ts'
import { DateTime, ListQuery, NullableText, type Static, Type } from '../lib/schema.ts'
import type { Channel } from './channel.ts'
import { listAccounts, requireMsgapp } from './connections.ts'
import { describeParams } from './template-params.ts'
import { StructuredParams } from './template-schema.ts'
import { getListedTemplate, type ListedTemplate, listTemplates, pageTemplates, refreshTemplates } from './templates.ts'

const Component = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })

const TemplateView = Type.Object(
  {
    name: Type.String(),
    language: Type.String(),
    account: NullableText({ description: 'The id of the provider account that owns it. Its numbers can send it.' }),
    category: Type.String({ description: 'In the spelling of the channel: `MARKETING`, `UTILITY`, `AUTHENTICATION`.' }),
    status: Type.String({
      description:
        'In the spelling of the channel: `APPROVED`, `PENDING`, `REJECTED`, `PAUSED`. Only approved ones are sent.',
    }),
    status_reason: NullableText({ description: "The channel's reason for the status." }),
    components: Type.Array(Component, {
      description: 'Header, body, footer, buttons and cards, as the channel has them.',
    }),
    params: Type.Unsafe<Static<typeof StructuredParams> | null>({
      anyOf: [StructuredParams, { type: 'null' }],
      description:
        'The values that the template needs, as `template.params` of a message, with placeholders instead of values. ' +
        'Null if the template cannot be sent.',
    }),
    updated_at: DateTime,
  },
  {
    title: 'Template',
    examples: [
      {
        name: 'order_confirmed',
        language: 'en_US',
        account: '102290129340398',
        category: 'UTILITY',
        status: 'APPROVED',
        status_reason: null,
        components: [{ type: 'BODY', text: 'Hi {{1}}, your order {{2}} is confirmed.' }],
        params: { body: ['{{1}}', '{{2}}'] },
        updated_at: '2026-01-05T09:00:00.000Z',
      },
    ],
  },
)

const MemberTemplate = Type.Object({
  name: Type.String(),
  language: Type.String(),
  account: NullableText(),
  status: Type.String(),
  category: Type.String(),
  parameter_format: Type.String(),
  components: Type.Unknown(),
  status_reason: NullableText({ description: "The provider's reason for the status." }),
  quality: NullableText({ description: "The provider's rating: GREEN, YELLOW or RED." }),
  previous_category: NullableText({ description: 'The category before the last change by the provider.' }),
  updated_at: DateTime,
})

const filters = {
  status: Type.Optional(
    Type.String({ maxLength: 40, description: 'Only templates of this status, in any case: `approved`.' }),
  ),
  language: Type.Optional(Type.String({ maxLength: 20, description: 'Only templates in this language: `en_US`.' })),
  search: Type.Optional(Type.String({ maxLength: 512, description: 'A part of the name, in any case.' })),
  account: Type.Optional(Type.String({ maxLength: 100, description: 'Only templates of this provider account.' })),
}

type TemplateRoutes = { db: Db; sealer: Sealer; channel: Channel }

export function templateTable({ db, sealer, channel }: TemplateRoutes): readonly Row[] {
  const config = { scope: 'messages:send', hasEtag: true }
  const show = ({ components, ...template }: ListedTemplate) => ({
    ...template,
    components: Array.isArray(components) ? components.filter(isRecord) : [],
    params: describeParams(channel, { components, ...template }) as Static<typeof StructuredParams> | null,
  })
  /** Fetches the list of each provider account. Returns false without a connection: then there are no templates. */
  const refresh = async (workspaceId: string): Promise<boolean> => {
    const connections = await listAccounts(db, sealer, workspaceId)
    const fetched = await Promise.all(connections.map((connection) => refreshTemplates(db, channel, connection)))
    if (fetched.every(Boolean)) return fetched.length > 0
    throw new ApiError('platform_error', 'the channel did not return its templates; check the connection')
  }
  return [
    row({
      call: 'GET /templates',
      operation: 'listTemplates',
      summary: 'List templates',
      description:
        'The templates of the primary channel in all languages, sorted by name and language. The service keeps a copy: ' +
        'the channel reports changes, and a send with an unknown template reads the list again.',
      ...config,
      isShared: true,
      failures: [502],
      query: ListQuery(filters),
      list: TemplateView,
      run: async ({ caller: { workspaceId }, query }) => {
        const read = () => pageTemplates(db, workspaceId, query)
        const page = await read()
        const { data, meta } = page.isEmpty && (await refresh(workspaceId)) ? await read() : page
        return { data: data.map(show), meta }
      },
    }),
    row({
      call: 'GET /templates/:name',
      operation: 'getTemplate',
      summary: 'Read a template',
      description: 'One template in one language. If the copy does not have it, the list of the channel is read again.',
      ...config,
      failures: [404, 502],
      params: Type.Object({ name: Type.String({ description: 'The name of a template.' }) }),
      query: Type.Object({
        language: Type.Optional(Type.String({ maxLength: 20, description: '`en_US` when absent.' })),
        account: Type.Optional(
          Type.String({
            maxLength: 100,
            description: 'The provider account. When absent, that of the default number is preferred.',
          }),
        ),
      }),
      data: TemplateView,
      run: async ({ caller: { workspaceId }, params: { name }, query: { language = 'en_US', account } }) => {
        const read = () => getListedTemplate(db, workspaceId, { name, language, account })
        const template = (await read()) ?? ((await refresh(workspaceId)) ? await read() : undefined)
        if (!template) throw notFound('template')
        return show(template)
      },
    }),
    row({
      call: 'GET /templates',
      members: roles,
      data: Type.Array(MemberTemplate),
      run: ({ caller }) => listTemplates(db, caller.workspaceId),
    }),
    row({
      call: 'POST /templates/refresh',
      members: managers,
      audit: 'template.refreshed',
      data: Type.Array(MemberTemplate),
      run: async ({ caller: { workspaceId } }) => {
        await requireMsgapp(db, sealer, workspaceId)
        await refresh(workspaceId)
        return listTemplates(db, workspaceId)
      },
    }),
  ]
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
