/**
 * `parley automations`: automations as files in git. `pull` writes them, `push` creates and changes automations, `test` checks files.
 *
 * A push checks all files before it changes anything, and deletes nothing. It repeats safely: what is equal stays as it is. A new
 * definition is a draft until it is published, and a push does not activate what a member has paused.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type Automation, type Parley, ParleyError } from '../sdk/src/index.ts'
import { describeDryRun } from './automation-dry-run.ts'
import {
  type AutomationFile,
  type Fault,
  fileNameOf,
  formatFile,
  listDifferences,
  type ReadFile,
  readFolder,
} from './automation-files.ts'
import { planMoves } from './automation-order.ts'
import type { Output } from './output.ts'
import { CommandError } from './target.ts'

type AutomationsOptions = {
  action: string | undefined
  /** Ends in `/v1`. */
  url: string
  folder: string
  publish: boolean
  ids: boolean
  /** With `test`: the files are tried on the past. */
  dryRun: boolean
  days: string | undefined
}

type Context = { parley: Parley; output: Output; options: AutomationsOptions; folder: string }

/** A folder may have more files than a key has requests per minute: the SDK waits then. */
const retries = { maxRetries: 3 }

const actions: Record<string, (context: Context) => Promise<void>> = { pull, push, test }

export async function manageAutomations(parley: Parley, output: Output, options: AutomationsOptions): Promise<void> {
  const { action = '', publish, ids, dryRun, days } = options
  const run = Object.hasOwn(actions, action) ? actions[action] : undefined
  if (!run) throw new CommandError('bad_option', `The action must be one of ${Object.keys(actions).join(', ')}.`)
  if (publish && action !== 'push') throw new CommandError('bad_option', '--publish: only with push')
  if (ids && action !== 'pull') throw new CommandError('bad_option', '--ids: only with pull')
  if (dryRun && action !== 'test') throw new CommandError('bad_option', '--dry-run: only with test')
  if (days !== undefined && !dryRun) throw new CommandError('bad_option', '--days: only with --dry-run')
  if (days !== undefined && !/^[1-7]$/.test(days)) throw new CommandError('bad_option', '--days: must be 1 to 7')
  await run({ parley, output, options, folder: resolve(options.folder) })
}

const listAll = async (parley: Parley): Promise<Automation[]> => (await parley.automations.list(retries)).data

/** What a member edits, or what is published. */
const definitionOf = ({ draft, definition }: Automation) => draft ?? definition ?? undefined

async function pull({ parley, output, options, folder }: Context): Promise<void> {
  const automations = await listAll(parley)
  mkdirSync(folder, { recursive: true })
  const { files, faults } = readFolder(folder)
  for (const { file, message } of faults) output.note(`${file}: ignored, ${message}`)
  const taken = new Set([...files, ...faults].map(({ file }) => file))
  const isPulled = new Set<string>()
  for (const [position, automation] of automations.entries()) {
    const { id, name, description } = automation
    const isUnique = automations.filter((other) => other.name === name).length === 1
    const known =
      files.find(({ content }) => content.id === id) ??
      files.find(({ file, content }) => isUnique && !isPulled.has(file) && isOfName(content, name, automations))
    const file = known?.file ?? fileNameOf(name, taken)
    const text = formatFile({
      $schema: known?.content.$schema ?? `${options.url.replace(/\/v1$/, '')}/docs/automation-file.schema.json`,
      ...(options.ids || !isUnique || known?.content.id !== undefined ? { id } : {}),
      ...{ name, description, position, definition: definitionOf(automation) },
    } as AutomationFile)
    taken.add(file)
    isPulled.add(file)
    const action = known === undefined ? 'created' : known.text === text ? 'unchanged' : 'changed'
    if (action !== 'unchanged') writeFileSync(join(folder, file), text)
    output.print({ file, id, name, action }, [`${file}: ${action}`])
  }
  for (const { file } of files.filter((each) => !isPulled.has(each.file))) {
    output.note(`${file}: the workspace has no such automation. A push creates it; delete the file if that is wrong.`)
  }
}

/** A file with the id of another automation is of that one. */
const isOfName = (content: AutomationFile, name: string, automations: readonly Automation[]): boolean =>
  content.name.trim() === name && !automations.some(({ id }) => id === content.id)

async function test(context: Context): Promise<void> {
  const { output } = context
  const { files, faults } = readFiles(context)
  const valid: ReadFile[] = []
  for (const each of files) {
    const { file, content } = each
    const { fault } = await check(context, file, content)
    if (fault) {
      faults.push(fault)
      continue
    }
    output.print({ file, valid: true }, [`${file}: valid`])
    valid.push(each)
  }
  refuse(output, faults)
  if (context.options.dryRun) await dryRun(context, valid)
}

/** Tries files on the past. The service needs the automation of the file, because others may be before it. */
async function dryRun({ parley, output, options }: Context, files: readonly ReadFile[]): Promise<void> {
  const automations = await listAll(parley)
  const days = options.days === undefined ? {} : { days: Number(options.days) }
  for (const { file, content } of files) {
    const { definition } = content
    const stored = findStored(content, automations)
    if (!definition || typeof stored !== 'object') {
      const reason = definition ? 'the workspace has no such automation; push it first' : 'it has no definition'
      output.print({ file, dry_run: null, reason }, [
        `${file}: not tried, ${typeof stored === 'string' ? stored : reason}`,
      ])
      continue
    }
    try {
      const result = await parley.automations.dryRun(stored.id, { definition, ...days }, retries)
      output.print({ file, id: stored.id, dry_run: result }, describeDryRun(file, result))
    } catch (error) {
      // For example an automation that is started by hand.
      if (!(error instanceof ParleyError) || error.code !== 'bad_request') throw error
      output.print({ file, dry_run: null, reason: error.message }, [`${file}: not tried, ${error.message}`])
    }
  }
}

/** Reads the folder. Two files of one name would overwrite each other at the service. */
function readFiles({ folder }: Context) {
  const { files, faults } = readFolder(folder)
  if (files.length + faults.length === 0) throw new CommandError('no_files', `${folder} has no .json files.`)
  for (const [index, { file, content }] of files.entries()) {
    const other = files.slice(0, index).find((each) => isSame(each.content, content))
    if (other) faults.push({ file, message: `name: ${other.file} has the same; give both an id` })
  }
  return { files, faults }
}

const isSame = (one: AutomationFile, other: AutomationFile): boolean =>
  one.id !== undefined && other.id !== undefined ? one.id === other.id : one.name.trim() === other.name.trim()

type Checked = { fault: Fault } | { fault?: undefined; definition: Record<string, unknown> | undefined }

/** Returns the canonical definition, or its fault. */
async function check({ parley }: Context, file: string, { definition }: AutomationFile): Promise<Checked> {
  if (!definition) return { definition }
  try {
    return { definition: (await parley.automations.check(definition, retries)).definition as Record<string, unknown> }
  } catch (error) {
    if (error instanceof ParleyError && error.code === 'bad_request') return { fault: { file, message: error.message } }
    throw error
  }
}

/** Prints the faults and ends the command, if there are any. */
function refuse(output: Output, faults: readonly Fault[]): void {
  for (const { file, message } of faults) output.print({ file, valid: false, message }, [`${file}: ${message}`])
  const { size } = new Set(faults.map(({ file }) => file))
  if (size > 0) throw new CommandError('invalid_files', `${size === 1 ? '1 file is' : `${size} files are`} not valid.`)
}

/** A file with what the service has for it. `definition`: canonical. */
type Planned = { file: string; content: AutomationFile; stored: Automation | undefined }

async function push(context: Context): Promise<void> {
  const { parley, output, options } = context
  const { files, faults } = readFiles(context)
  const automations = await listAll(parley)
  const planned: Planned[] = []
  for (const { file, content } of files) {
    const found = findStored(content, automations)
    const stored = typeof found === 'string' ? undefined : found
    const isKnown = stored && isDeepStrictEqual(content.definition, definitionOf(stored))
    const checked: Checked = isKnown ? { definition: content.definition } : await check(context, file, content)
    if (typeof found === 'string') faults.push({ file, message: found })
    if (checked.fault) faults.push(checked.fault)
    else planned.push({ file, stored, content: withDefinition(content, checked.definition) })
  }
  refuse(output, faults)
  const counts = { created: 0, changed: 0, unchanged: 0, moved: 0, published: 0 }
  const pushed: (Planned & { stored: Automation })[] = []
  // New automations are appended in the order of their places.
  for (const plan of planned.sort((one, other) => placeOf(one) - placeOf(other))) {
    const { file } = plan
    const { action, stored, fields } = await naming(file, () => apply(parley, plan))
    counts[action]++
    const text = action === 'created' ? `created "${stored.name}"` : `changed ${fields.join(', ')}`
    output.print(
      { file, id: stored.id, name: stored.name, action, fields },
      action === 'unchanged' ? [] : [`${file}: ${text}`],
    )
    pushed.push({ ...plan, stored })
  }
  counts.moved = await move(context, pushed)
  if (options.publish) counts.published = await publish(context, pushed)
  const known = new Set(pushed.map(({ stored }) => stored.id))
  for (const { id, name } of automations) if (!known.has(id)) output.note(`"${name}" has no file and stays as it is.`)
  output.note(
    `${Object.entries(counts)
      .map(([what, count]) => `${count} ${what}`)
      .join(', ')}.`,
  )
}

const placeOf = ({ content }: Planned): number => content.position ?? Number.MAX_SAFE_INTEGER

const withDefinition = (content: AutomationFile, definition: AutomationFile['definition']): AutomationFile =>
  definition ? { ...content, definition } : content

/** The automation with the id of the file, else the one with its name. A text: why it is not known which one is meant. */
function findStored({ id, name }: AutomationFile, automations: readonly Automation[]): Automation | string | undefined {
  const same = automations.find((automation) => automation.id === id)
  if (same) return same
  const named = automations.filter((automation) => automation.name === name.trim())
  return named.length > 1 ? `name: ${named.length} automations have it; pull writes their ids` : named[0]
}

type Applied = { action: 'created' | 'changed' | 'unchanged'; stored: Automation; fields: string[] }

/** Creates or changes one automation. */
async function apply(parley: Parley, { content, stored }: Planned): Promise<Applied> {
  const { name, description, definition } = content
  if (!stored) {
    const texts = description === undefined ? { name } : { name, description }
    const created = await parley.automations.create(definition ? { ...texts, definition } : texts, retries)
    return { action: 'created', stored: created, fields: [] }
  }
  let changed = stored
  const fields: string[] = []
  const texts = {
    ...(name.trim() === stored.name ? {} : { name }),
    ...(description === undefined || description.trim() === stored.description ? {} : { description }),
  }
  if (Object.keys(texts).length > 0) {
    changed = await parley.automations.update(stored.id, texts, retries)
    fields.push(...Object.keys(texts))
  }
  const paths = definition ? listDifferences(definitionOf(stored), definition) : []
  if (definition && paths.length > 0) {
    changed = await parley.automations.saveDraft(stored.id, definition, {}, retries)
    fields.push(`definition (${paths.map((path) => path || 'all').join(', ')})`)
  }
  return { action: fields.length > 0 ? 'changed' : 'unchanged', stored: changed, fields }
}

type Pushed = readonly (Planned & { stored: Automation })[]

/** Moves automations to the places of their files. Returns how many. */
async function move({ parley, output }: Context, pushed: Pushed): Promise<number> {
  const placed = pushed.flatMap(({ stored, content: { position } }) =>
    position === undefined ? [] : [{ id: stored.id, position }],
  )
  if (placed.length === 0) return 0
  const current = (await listAll(parley)).map(({ id }) => id)
  const moves = planMoves(current, placed)
  for (const { id, position } of moves) {
    const { file = id } = pushed.find(({ stored }) => stored.id === id) ?? {}
    await naming(file, () => parley.automations.update(id, { position }, retries))
    output.print({ file, id, action: 'moved', position }, [`${file}: moved to position ${position}`])
  }
  return moves.length
}

/** Publishes the drafts of the files. Returns how many. */
async function publish({ parley, output }: Context, pushed: Pushed): Promise<number> {
  let count = 0
  for (const { file, content, stored } of pushed) {
    if (!content.definition || stored.draft === null) continue
    if (stored.state === 'paused') {
      output.note(`${file}: saved as a draft and not published, because the automation is paused.`)
      continue
    }
    const { id, version } = await naming(file, () => parley.automations.publish(stored.id, retries))
    output.print({ file, id, action: 'published', version }, [`${file}: published version ${version}`])
    count++
  }
  return count
}

/** Adds the name of the file to an error of the service. */
async function naming<Result>(file: string, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof ParleyError) || error.status === 0) throw error
    throw new CommandError(error.code, `${file}: ${error.message}`, error.details as object | undefined)
  }
}
