/** The documents: their links lead somewhere, also in a release, and their numbers are those of the code. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { times } from '../common/times.ts'
import { accessFile, describeAccess } from '../scripts/access.ts'
import { describeService } from '../scripts/describe-service.ts'
import { isReleased } from '../scripts/release.ts'
import { countConnections } from './internals.ts'
import { findDeadLinks } from './links.ts'

const documents = globSync(['*.md', '{bench,docs,server}/*.md', 'examples/*/*.md', 'sdk*/README.md'])

test('every link of every document leads to a file and a heading', () => {
  assert.ok(documents.length > 20)
  assert.deepEqual(findDeadLinks('.', documents, existsSync), [])
})

test('every link of a document in a release leads to a file of the release', () => {
  const released = documents.filter(isReleased)
  assert.ok(released.includes('README.md') && released.includes('docs/limits.md'))
  const dead = findDeadLinks('.', released, (path) => existsSync(path) && isReleased(path))
  assert.deepEqual(dead, [])
})

test('the READMEs of the SDKs link to nothing outside their packages', () => {
  for (const document of ['sdk/README.md', 'sdk-python/README.md'])
    assert.doesNotMatch(readFileSync(document, 'utf8'), /\]\(\.\.?\//, document)
})

test('files that the documents name exist', () => {
  for (const document of globSync(['{README,CONTRIBUTING,SECURITY}.md', 'docs/*.md'])) {
    const text = readFileSync(document, 'utf8')
    for (const [, path = ''] of text.matchAll(
      /`((?:bench|cli|common|dashboard|scripts|sdk|server|simulator|soak|tests|ui|widget)\/[\w./-]+\.\w+)`/g,
    )) {
      assert.ok(existsSync(path), `${document} names ${path}, which does not exist`)
    }
  }
})

test('no document installs a package under a name that is not ours', () => {
  for (const document of documents) {
    const text = readFileSync(document, 'utf8')
    assert.doesNotMatch(text, /\b(?:npm (?:i|install|add)|yarn add|pnpm add|npx --yes) parley(?:-sdk)?\b/, document)
    assert.doesNotMatch(text, /\bpip3? install parley[-_]sdk\b/, document)
  }
  // In the folder of an integrator `npx parley` would run another project.
  for (const document of ['sdk/README.md', 'sdk-python/README.md'])
    assert.doesNotMatch(readFileSync(document, 'utf8'), /npx parley\b(?!-sdk)/, document)
})

test('commands of the documents use only variables that a command or the text before sets', () => {
  // Ids and addresses that only the reader knows are words in capitals without a dollar sign.
  const known = new Set(['HOME', 'PATH', 'PWD', 'USER'])
  for (const document of documents.filter((path) => path === 'README.md' || path.startsWith('docs/'))) {
    const text = readFileSync(document, 'utf8')
    const blocks = [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block)
    const set = new Set(known)
    for (const block of blocks) {
      for (const [, name = ''] of block.matchAll(/(?:^|\s)(?:export )?([A-Z_]+)=/g)) set.add(name)
      for (const [, name = ''] of block.matchAll(/\$\{?([A-Z_]+)/g)) assert.ok(set.has(name), `${document}: $${name}`)
    }
  }
})

test('docs/access.md lists the calls of each scope and the rights of each role', async () => {
  assert.equal(readFileSync(accessFile, 'utf8'), await describeAccess(), 'run `npm run routes`')
})

test('the pages name the same numbers of database connections as the code', () => {
  const both = new Set(['api', 'worker'])
  const count = (processes: number, roles = both) => countConnections({ roles, processes, demo: false })
  const most = Math.max(...[3, 4, 5, 6, 7, 8].map((processes) => count(processes)))
  const [api, worker] = ['api', 'worker'].map((role) => count(1, new Set([role])))
  const rows = [
    `| 1 | up to ${count(1)}: ${api} for the API, ${worker} for the worker |`,
    `| 2 | up to ${count(2)} |`,
    `| 3 to 8 | up to ${most}, which`,
    `| any, with \`ROLES=worker\` | up to ${worker} |`,
  ]
  for (const row of rows) assert.ok(readFileSync('docs/install.md', 'utf8').includes(row), row)
  const sizes = `opens ${count(1)} connections with one API process, ${count(2)} with two and at most ${most} with more, and one more with \`DEMO=1\`; \`ROLES=worker\` opens ${worker}.`
  assert.ok(readFileSync('docs/scaling.md', 'utf8').includes(sizes), sizes)
})

const units: Record<string, number> = { mebibyte: 1024 * 1024 }

/** The number of a constant or a property in a source file: `const maxTags = 100`, `bodyBytes: 1024 * 1024`. */
function constant(file: string, name: string): number {
  const source = readFileSync(file, 'utf8')
  const found = new RegExp(`\\b${name}(?: = |: )([\\d_a-zA-Z* ]+)[,\\n }]`).exec(source)?.[1]
  assert.ok(found, `${file} has no ${name}`)
  const value = found.split('*').reduce((product, factor) => {
    const text = factor.trim().replaceAll('_', '')
    return product * (units[text] ?? Number(text))
  }, 1)
  assert.ok(Number.isFinite(value), `${file}: ${name} = ${found}`)
  return value
}

const mebibytes = (bytes: number): number => bytes / 1024 / 1024

test('docs/limits.md has the numbers of the code', async () => {
  const { document } = await describeService()
  /** The first value of a keyword, such as `maxLength`, at a path below a schema of the OpenAPI document. */
  const schema = (path: string, keyword: string): number => {
    const schemas: Record<string, unknown> = document.components.schemas
    let part: unknown = schemas
    for (const name of path.split('.')) part = Object(part)[name]
    const value = Object(part)[keyword]
    assert.equal(typeof value, 'number', `${path} has no ${keyword}`)
    return value
  }
  const length = (path: string) => schema(path, 'maxLength')
  /** The limit of a text whose schema states it in words. */
  const described = (path: string): number => {
    let part: unknown = document.components.schemas
    for (const name of path.split('.')) part = Object(part)[name]
    const { maxLength, description } = Object(part)
    return maxLength ?? Number(/(\d+) characters/.exec(description)?.[1])
  }
  const idempotencyKey = document.paths['/contacts']?.post?.parameters?.find(({ name }) => name === 'Idempotency-Key')
  const buttons = 'InteractiveButtons.properties'
  const button = `${buttons}.buttons.items.properties`
  const list = 'InteractiveList.properties'
  const row = `${list}.sections.items.properties.rows.items.properties`
  const link = 'InteractiveLink.properties'
  const server = (name: string) => constant('server/lib/http/server.ts', name)
  const visitors = (name: string) => constant('server/webchat/visitors.ts', name)
  const perMinute = constant('server/accounts/auth.ts', 'requestsPerMinute')
  const batch = schema('NewBroadcast.properties.recipients', 'maxItems')
  const perSecond = perMinute / 60
  const definition = (name: string) => constant('server/automation/definition.ts', name)
  const decision = (name: string) => constant('server/automation/decisions.ts', name)
  const capacity = (name: string) => constant('server/teams/capacity.ts', name)
  const satisfaction = (name: string) => constant('server/satisfaction/settings.ts', name)
  const dryRun = (name: string) => constant('server/automation/dry-run/dry-run.ts', name)

  const expected: Record<string, number[]> = {
    '`POST /v1/messages` with one key': [perSecond],
    '`POST /v1/messages` with a key per program or worker': [perSecond],
    '`POST /v1/broadcasts`, or a draft with `POST /v1/broadcasts/{id}/recipients`': [batch],
    '`POST /v1/broadcasts` with `segment_id`': [],
    'requests per key': [perMinute, 60],
    'sending rate of a number, for broadcasts': [
      constant('server/channels/store-connection.ts', 'defaultPace'),
      1,
      10_000,
    ],
    'size of a body': [mebibytes(server('bodyBytes'))],
    'nesting of a body': [constant('server/lib/http/json.ts', 'maxDepth')],
    'values in a body: texts, numbers, lists, objects': [constant('server/lib/http/json.ts', 'maxValues')],
    'headers of a request': [server('headerBytes') / 1024],
    'time to send a request': [server('requestTimeoutMs') / 1000],
    'time until the response': [server('responseTimeoutMs') / 1000],
    'time to read a response': [server('responseTimeoutMs') / 1000],
    'pipelined requests on a connection': [constant('server/lib/http/request-limits.ts', 'maxPipelined')],
    'page size (`limit`)': [constant('server/lib/page.ts', 'defaultLimit'), constant('server/lib/page.ts', 'maxLimit')],
    'size of a page of messages': [mebibytes(constant('server/messages/messages.ts', 'maxPageBytes'))],
    '`Idempotency-Key`': [Number(Object(idempotencyKey?.schema).maxLength)],
    'calls of a member to the dashboard': [constant('server/accounts/sign-in/sessions.ts', 'maxCalls')],
    'searches and filters of a workspace': [
      constant('server/lib/postgres/slow-reads.ts', 'maxRunning'),
      constant('server/lib/postgres/slow-reads.ts', 'slowReadMs') / 1000,
    ],
    'active API keys of a workspace': ['maxKeys', 'maxKept', 'maxEnded'].map((name) =>
      constant('server/accounts/keys.ts', name),
    ),
    'open invitations of a workspace': [constant('server/accounts/members.ts', 'maxInvitations')],
    plan: [],
    text: [constant('server/channels/template-schema.ts', 'maxTextLength')],
    'caption of an image, video or document': [
      constant('server/messages/sending/requested-content.ts', 'maxCaptionLength'),
    ],
    '`media_url`': [length('NewMessage.properties.media_url')],
    '`filename` of a document': [length('NewMessage.properties.filename')],
    'values of a template': [
      schema('TemplateParams.properties.body', 'maxItems'),
      length('TemplateParams.properties.body.items'),
    ],
    'text of a message or note that is searched': [constant('server/insights/words.ts', 'maxSearchedLength')],
    'all texts of a template with their values': [constant('server/channels/msgapp/template.ts', 'maxFilledLength')],
    'templates of a channel': [
      constant('server/channels/msgapp/msgapp.ts', 'maxTemplates'),
      constant('server/channels/msgapp/msgapp.ts', 'maxTemplateLength') / 1024,
      mebibytes(constant('server/channels/msgapp/msgapp.ts', 'maxTemplatesLength')),
    ],
    'cards of a carousel': [schema('TemplateParams.properties.cards', 'maxItems')],
    'buttons of a message': [schema(`${buttons}.buttons`, 'maxItems')],
    'title, id of a button': [length(`${button}.title`), length(`${button}.id`)],
    'body, header, footer of a message with buttons': ['body', 'header', 'footer'].map((name) =>
      length(`${buttons}.${name}`),
    ),
    'sections, rows of a list in total': [
      schema(`${list}.sections`, 'maxItems'),
      constant('server/messages/sending/interactive.ts', 'maxRows'),
    ],
    'title, description, id of a row': ['title', 'description', 'id'].map((name) => length(`${row}.${name}`)),
    'body of a list, label of its button, title of a section': [
      length(`${list}.body`),
      length(`${list}.button`),
      length(`${list}.sections.items.properties.title`),
    ],
    'body, label, URL of a message with a link': ['body', 'text', 'url'].map((name) => length(`${link}.${name}`)),
    'text on `social`': [constant('server/messages/sending/check.ts', 'maxSocialBytes')],
    'body of a message with a link on `social`': [constant('server/messages/sending/check.ts', 'maxSocialLinkText')],
    'files that members upload': ['image', 'video'].map((kind) => mebibytes(constant('server/media/uploads.ts', kind))),
    'scheduled messages that wait': ['maxPerConversation', 'maxPerWorkspace', 'maxDays'].map((name) =>
      constant('server/automation/scheduled.ts', name),
    ),
    'reports of a channel in one callback': [constant('server/channels/callbacks.ts', 'maxReports'), 400],
    'files of customers': [
      mebibytes(constant('server/media/media.ts', 'maxBytes')),
      mebibytes(constant('server/media/visitor-files.ts', 'maxVisitorBytes')),
    ],
    'contacts per batch': [schema('ContactBatch.properties.contacts', 'maxItems')],
    'batches of a workspace': [constant('server/contacts/routes.ts', 'maxBatchesInFlight'), 429],
    'name, email, company': ['name', 'email', 'company'].map((name) => length(`NewContact.properties.${name}`)),
    'tags of a contact': [constant('server/contacts/tags.ts', 'maxTags')],
    'names of tags in a list, and in a cell of an imported file': [10 * constant('server/contacts/tags.ts', 'maxTags')],
    'imported file': [
      mebibytes(constant('server/imports/imports.ts', 'maxFileBytes')),
      constant('server/imports/rows.ts', 'maxRows'),
      constant('server/lib/csv-reader.ts', 'maxColumns'),
      mebibytes(constant('server/lib/csv-reader.ts', 'maxRowBytes')),
      constant('server/imports/rows.ts', 'maxTagNames'),
    ],
    'files of a workspace that wait for their import': [constant('server/imports/imports.ts', 'maxWaiting'), 429],
    'imports at the same time': [
      1,
      constant('server/imports/run.ts', 'maxJobs'),
      mebibytes(constant('server/imports/jobs.ts', 'smallBytes')),
    ],
    'undo of an import, list of its rejected rows': [constant('server/imports/jobs.ts', 'undoDays')],
    'name of a tag': [constant('server/contacts/tags.ts', 'maxTagLength')],
    'attributes of a contact': [constant('server/contacts/attributes.ts', 'maxAttributes')],
    'text of an attribute': [constant('server/contacts/attributes.ts', 'maxAttributeLength')],
    'contacts that a member tags or exports as a selection': [constant('server/contacts/routes.ts', 'maxSelected')],
    '`contact_ids` per request': [schema('ContactIds.properties.contact_ids', 'maxItems')],
    'name, description of a segment': [
      described('NewSegment.properties.name'),
      length('NewSegment.properties.description'),
    ],
    'rules of a filter or of a group': [constant('server/segments/filter.ts', 'maxRules')],
    'rules of a filter with all its groups': [constant('server/segments/filter.ts', 'maxTotalRules')],
    'value of a rule': [constant('server/segments/filter.ts', 'maxValueLength')],
    'labels of a conversation': [constant('server/conversations/labels.ts', 'maxLabels')],
    'labels of a workspace': [constant('server/conversations/labels.ts', 'maxInWorkspace')],
    'schedules of a workspace': [constant('server/hours/schedules.ts', 'maxSchedules')],
    'periods, holidays of a schedule': ['maxPeriods', 'maxHolidays'].map((name) =>
      constant('server/hours/schedules.ts', name),
    ),
    'a calendar file with holidays': ['maxFileLength', 'maxDays'].map((name) =>
      constant('server/hours/icalendar.ts', name),
    ),
    'teams of a workspace': [constant('server/teams/teams.ts', 'maxTeams')],
    'name of a team': [constant('server/teams/teams.ts', 'maxNameLength')],
    'members, connections of a team': [constant('server/teams/teams.ts', 'maxInTeam')],
    'capacity of a member': [0, capacity('maxCapacity'), capacity('defaultCapacity')],
    '"Return if offline" of a team': [capacity('maxReturnMinutes')],
    'position in a queue, and count of a queue': [constant('server/conversations/assignment/queue.ts', 'maxQueued')],
    'targets of a workspace': [constant('server/targets/targets.ts', 'maxTargets')],
    'name of a target': [constant('server/targets/targets.ts', 'maxTargetName')],
    'times of a target': [1, constant('server/targets/targets.ts', 'maxMinutes')],
    'question about satisfaction, thanks, request for a comment': [satisfaction('maxText'), satisfaction('maxBytes')],
    'title of a choice, label of its list': [satisfaction('maxTitle')],
    'days between two questions to a contact': [1, satisfaction('maxDays')],
    'time from the closing to the question': [satisfaction('maxDelay') / 3_600],
    'time in which an answer counts, and then a comment': [
      constant('server/satisfaction/question.ts', 'answerMs') / 86_400_000,
      constant('server/satisfaction/question.ts', 'commentMs') / 60_000,
    ],
    'connections, teams, labels in the settings of satisfaction': ['maxIds', 'maxIds', 'maxNames'].map(satisfaction),
    'values of one filter of the inbox': [constant('server/conversations/inbox-query.ts', 'maxValues')],
    'open conversations among which the sidebar counts labels and members': [
      constant('server/conversations/counts.ts', 'maxOpen'),
    ],
    'conversations among which it counts a saved view, for the first 30 views': [
      constant('server/conversations/inbox.ts', 'maxScannedForCount'),
    ],
    'text of a note': [constant('server/conversations/timeline.ts', 'maxNoteLength')],
    '`snoozed_until`': [constant('server/conversations/changes.ts', 'maxSnoozeDays')],
    name: [described('NewBroadcast.properties.name')],
    'recipients per request': [batch],
    'drafts of a workspace': [
      constant('server/broadcasts/limits.ts', 'maxDrafts'),
      constant('server/broadcasts/drafts.ts', 'draftDays'),
    ],
    'segments of an audience (dashboard)': [
      constant('server/broadcasts/audience.ts', 'maxSegments'),
      constant('server/broadcasts/audience.ts', 'maxSegments'),
    ],
    'recipients of a workspace that are not sent to yet': [constant('server/broadcasts/limits.ts', 'maxUnsent')],
    'automations of a workspace': [constant('server/automation/automations.ts', 'maxAutomations')],
    'name, description of an automation': ['maxName', 'maxDescription'].map((name) =>
      constant('server/automation/automations.ts', name),
    ),
    'steps of an automation, on all levels': [definition('steps')],
    'levels of steps': [definition('nesting')],
    'definition as JSON': [definition('bytes') / 1024],
    'cases of a branch': [definition('cases')],
    'words or phrases of a trigger': [definition('words'), definition('wordLength')],
    'retries of a question': [definition('retries')],
    'answers of a run as JSON': [decision('maxAnswerBytes') / 1024],
    'automated messages of a conversation': [decision('maxPerHour')],
    'automations that cause one another': [decision('maxDepth')],
    'runs with questions that a workspace starts': [constant('server/automation/decide.ts', 'maxStartsPerSecond')],
    'conversations per start by hand': [schema('AutomationStart.properties.conversation_ids', 'maxItems')],
    'dry run on the past': [
      ...[dryRun('maxDays'), dryRun('maxConversations'), constant('server/automation/dry-run/history.ts', 'maxEvents')],
      ...[dryRun('deadlineMs') / 1000, dryRun('maxRuns')],
    ],
    'attempts of a call to your server': [times.automation.callRetryMs.length + 1, times.automation.callMs / 1000],
    'a preview without a message': [constant('server/previews/sandbox.ts', 'idleMinutes')],
    'retention of runs that ended, and of their logs': [constant('server/automation/log-days.ts', 'daysKept')],
    'endpoints of a workspace, integrations included': [constant('server/webhooks/endpoints.ts', 'maxEndpoints')],
    'time for an attempt': [times.webhooks.postMs / 1000],
    'attempts per event': [times.webhooks.backoffMs.length + 1],
    'consecutive failed events until an endpoint becomes inactive': [
      constant('server/webhooks/tally.ts', 'maxFailures'),
    ],
    'overlap of a rotated secret': [schema('SecretRotation.properties.overlap_hours', 'maximum')],
    'earlier secrets that are valid at the same time': [constant('server/webhooks/endpoints.ts', 'maxOldSecrets')],
    'retention of events and attempts': [constant('server/webhooks/partitions.ts', 'daysKept')],
    'open event streams per workspace and process': [constant('server/webhooks/stream.ts', 'streamsPerWorkspace')],
    'new visitors per minute and address': [visitors('visitorsPerMinute')],
    'messages of a visitor': [visitors('messagesPerMinute'), visitors('messagesPerDay')],
    'messages from an address': [visitors('messagesPerNetwork'), visitors('messagesPerNetworkAndDay')],
    'identity tokens per minute and address': [visitors('identitiesPerNetwork')],
    'life of an identity token': [constant('server/webchat/identity.ts', 'maxLifeMs') / 3_600_000],
    'customer id, name, email in an identity token': ['maxCustomerId', 'maxName', 'maxEmail'].map((name) =>
      constant('server/webchat/identity.ts', name),
    ),
    'signals of a visitor (typing, read marks)': [visitors('signalsPerMinute')],
    'signals from an address': [visitors('signalsPerNetwork')],
    'title, greeting of the widget': [
      constant('server/channels/widget.ts', 'maxTitle'),
      constant('server/channels/widget.ts', 'maxGreeting'),
    ],
    'connections of a workspace': ['maxConnections', 'maxStored'].map((name) =>
      constant('server/channels/store-connection.ts', name),
    ),
    'name of a connection': [constant('server/channels/store-connection.ts', 'maxName')],
    'allowed sites': [constant('server/channels/widget.ts', 'maxOrigins')],
  }
  const rows = [...readFileSync('docs/limits.md', 'utf8').matchAll(/^\| (?!---)(.+?) \| (.+) \|$/gm)]
    .map(([, name = '', value = '']) => ({ name, value }))
    .filter(({ value }) => value !== 'limit' && !value.endsWith('| speed'))
  assert.deepEqual(rows.map(({ name }) => name).sort(), Object.keys(expected).sort())
  for (const { name, value } of rows) {
    // A path in backticks has no limit: `/v1/usage`.
    const numbers = [...value.replace(/`[^`]*`/g, '').matchAll(/\d[\d,]*/g)].map(([text]) =>
      Number(text.replaceAll(',', '')),
    )
    assert.deepEqual(numbers, expected[name], `${name}: ${value}`)
  }
})
