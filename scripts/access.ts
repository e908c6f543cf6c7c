/**
 * `docs/access.md`: what each scope of an API key and each role of a member allows, generated from the routes. `npm run routes`
 * writes it, and a test checks that it is current.
 *
 * A route of the dashboard belongs to the first row below that matches it. All routes of a row allow the same roles.
 */
import { join } from 'node:path'
import { scopes } from '../server/accounts/keys.ts'
import { roles } from '../server/accounts/members.ts'
import { describeService, type RegisteredRoute } from './describe-service.ts'

export const accessFile = join(import.meta.dirname, '../docs/access.md')

const scopeTexts: Record<string, string> = {
  'messages:send': 'send messages and replies, now or later; check them; read templates',
  'messages:read': 'read messages',
  'contacts:read': 'read contacts, tags and segments',
  'contacts:write': 'create and change contacts and segments',
  'contacts:erase': 'erase and merge contacts, which cannot be undone',
  'conversations:read': 'read conversations, their episodes, and teams',
  'conversations:write': 'change conversations; read and write internal notes; read members',
  'broadcasts:send': 'create, start, stop and read broadcasts',
  'automations:manage':
    'create, change, publish, pause and start automations; read their runs; take conversations over from the bot',
  'webhooks:manage': 'manage webhook endpoints; follow the event stream',
}

/** What members do, with the routes: a method or `*`, and the beginning of a path, where `:x` stands for any name. */
const rows: readonly [text: string, ...routes: string[]][] = [
  ['see the status of the installation (owners of the first workspace)', 'GET /status'],
  ['reset the two-step sign-in of a member', 'DELETE /members/:x/second-factor'],
  [
    'their own profile, sessions, second factor, preferences, mentions and notifications',
    '* /profile',
    '* /session',
    '* /preferences',
    '* /mentions',
    'GET /notifications',
    '* /presence',
  ],
  ['be available for conversations, or away', 'PUT /availability', 'POST /availability'],
  ['set the assignment of teams and the capacity of members', 'PATCH /assignment'],
  ['create, change and revoke API keys', 'POST /keys', 'PATCH /keys'],
  ['invite, change and remove members', 'POST /members', 'PATCH /members', 'DELETE /members'],
  [
    'connect, check and change channels, and the web chat',
    'PUT /channels',
    'DELETE /channels',
    'POST /channels',
    'PATCH /channels',
  ],
  ['reload the templates from the channel', 'POST /templates/refresh'],
  [
    'manage webhook endpoints and integrations; send events again',
    'POST /webhooks',
    'PATCH /webhooks',
    'DELETE /webhooks',
    'POST /deliveries',
    '* /integrations',
  ],
  ['change targets', 'POST /targets', 'PATCH /targets', 'DELETE /targets'],
  ['change the workspace and its office hours', 'PATCH /workspace', '* /schedules/:x', 'POST /schedules'],
  ['change how customers are asked for a rating', 'PATCH /satisfaction'],
  ['read the audit log', 'GET /audit'],
  [
    'import and export contacts; export the recipients of a broadcast',
    '* /imports',
    'GET /contacts.csv',
    'POST /contacts.csv',
    'GET /broadcasts/:x/recipients.csv',
  ],
  ['erase a contact', 'DELETE /contacts/:x$'],
  ['delete a label', 'DELETE /labels'],
  ['create, change and delete teams', 'POST /teams', 'PATCH /teams', 'DELETE /teams'],
  ['merge contacts', 'POST /contacts/:x/merge'],
  [
    'answer customers; assign, close, snooze and label conversations; block contacts; notes; templates; files',
    'POST /conversations',
    'PATCH /conversations',
    'PUT /conversations',
    'DELETE /conversations',
    'POST /scheduled-messages',
    'PATCH /scheduled-messages',
    'DELETE /scheduled-messages',
    'POST /contacts/:x/conversations',
    'POST /templates/preview',
    'POST /uploads',
  ],
  [
    'create and change contacts, their notes, tags, segments',
    'POST /contacts',
    'PATCH /contacts',
    'DELETE /contacts',
    'DELETE /tags',
    'PATCH /tags',
    'POST /segments',
    'PATCH /segments',
    'DELETE /segments',
  ],
  ['start automations on conversations', 'POST /automations/:x/runs$'],
  ['preview the draft of an automation', 'GET /automations/:x/preview', 'POST /automations/:x/preview'],
  ['try automations on the past', 'POST /automations/:x/dry-run$'],
  [
    'create, change, publish and pause automations',
    'POST /automations',
    'PUT /automations',
    'PATCH /automations',
    'DELETE /automations',
  ],
  ['create, start and stop broadcasts', 'POST /broadcasts', 'PATCH /broadcasts', 'DELETE /broadcasts'],
  [
    'canned replies, labels, saved views',
    '* /canned-replies/:x',
    'POST /canned-replies',
    'POST /labels',
    'PATCH /labels',
    'POST /views',
    'PATCH /views',
    'DELETE /views',
  ],
  ['dismiss the first steps', 'POST /checklist'],
  [
    'read everything else: conversations, contacts, segments, broadcasts, overview, keys without their text, members, teams, webhooks, events, requests',
    'GET /',
  ],
]

const isMatch = (method: string, path: string, pattern: string): boolean => {
  const [wanted = '', beginning = ''] = pattern.split(' ')
  const isExact = beginning.endsWith('$')
  const prefix = beginning.replace('$', '').replaceAll(':x', '[^/]+')
  return (wanted === '*' || wanted === method) && new RegExp(`^${prefix}${isExact ? '$' : ''}`).test(path)
}

export async function describeAccess(): Promise<string> {
  const routes = (await describeService()).routes.filter(({ method }) => method !== 'HEAD')
  return [
    '# Roles and scopes',
    '',
    '`npm run routes` generates this page from the routes; a test keeps it true.',
    '',
    '## Scopes of API keys',
    '',
    'Owners and admins create keys in the dashboard. A key belongs to one workspace. A call needs at most one',
    'scope; without it the response is 403, and the message names the scope. A key without scopes can make the calls of the last row.',
    '',
    '| scope | allows | calls |',
    '|---|---|---|',
    ...[...scopes, null].map((scope) => describeScope(routes, scope)),
    '',
    '## Roles of members',
    '',
    'A member has one role in a workspace. Programs use keys: the role of the member who created a key does not matter.',
    '',
    `| | ${roles.join(' | ')} |`,
    `|---|${roles.map(() => '---|').join('')}`,
    ...describeRoles(routes),
    '',
  ].join('\n')
}

function describeScope(routes: readonly RegisteredRoute[], scope: string | null): string {
  const calls = routes
    .filter(({ url, config }) => url.startsWith('/v1/') && (config?.scope ?? null) === scope)
    .map(({ method, url }) => `\`${method} ${url.replace('/v1', '').replace(/:(\w+)/g, '{$1}')}\``)
  const text = scope === null ? 'every key' : scopeTexts[scope]
  if (text === undefined) throw new Error(`scripts/access.ts: ${scope} has no text`)
  return `| ${scope === null ? 'none' : `\`${scope}\``} | ${text} | ${calls.join(', ')} |`
}

function describeRoles(routes: readonly RegisteredRoute[]): string[] {
  const calls = routes.flatMap(({ method, url, config }) => {
    if (!url.startsWith('/app/api/') || url.endsWith('*') || config?.members === 'public') return []
    const path = url.replace('/app/api', '')
    const row = rows.find(([, ...patterns]) => patterns.some((pattern) => isMatch(String(method), path, pattern)))
    if (!row) throw new Error(`scripts/access.ts: ${method} ${path} belongs to no row`)
    return { name: `${method} ${path}`, row, allowed: config?.members ?? [] }
  })
  return rows.map((row) => {
    const own = calls.filter((call) => call.row === row)
    const [first] = own
    const other = own.find(({ allowed }) => allowed.join() !== first?.allowed.join())
    if (!first || other) throw new Error(`scripts/access.ts: ${row[0]}: ${other?.name ?? 'no call'} differs`)
    return `| ${row[0]} | ${roles.map((role) => (first.allowed.includes(role) ? 'yes' : '')).join(' | ')} |`
  })
}
