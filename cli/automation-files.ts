/**
 * Files of automations: one JSON file each, in a folder that is kept in git.
 *
 * The text of a file is canonical: the fields in one order, the definition as the service stores it. So a pull changes only the files
 * whose automation was changed.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CommandError } from './target.ts'

export type AutomationFile = {
  /** For editors. */
  $schema?: string
  /** Without it, the file describes the automation with the same name. */
  id?: string
  name: string
  description?: string
  /** Among all automations of the workspace, from 0. */
  position?: number
  definition?: Record<string, unknown>
}

export type ReadFile = { file: string; text: string; content: AutomationFile }
export type Fault = { file: string; message: string }

/** Reads the `.json` files of a folder by name. Hidden files are skipped. */
export function readFolder(folder: string): { files: ReadFile[]; faults: Fault[] } {
  const files: ReadFile[] = []
  const faults: Fault[] = []
  for (const file of listFiles(folder)) {
    const text = readFileSync(join(folder, file), 'utf8')
    const content = parse(text)
    if (typeof content === 'string') faults.push({ file, message: content })
    else files.push({ file, text, content })
  }
  return { files, faults }
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.json') && !name.startsWith('.'))
      .sort()
  } catch (error) {
    throw new CommandError('no_folder', `${folder} cannot be read: ${(error as Error).message}`)
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isText = (value: unknown): boolean => typeof value === 'string'

/** The fields in the order of the canonical text, each with its rule. */
const fields: Record<keyof AutomationFile, { isValid: (value: unknown) => boolean; rule: string }> = {
  $schema: { isValid: isText, rule: 'must be a text' },
  id: { isValid: isText, rule: 'must be a text' },
  name: { isValid: (value) => typeof value === 'string' && value.trim() !== '', rule: 'must be a text' },
  description: { isValid: isText, rule: 'must be a text' },
  position: { isValid: (value) => Number.isSafeInteger(value) && Number(value) >= 0, rule: 'must be 0 or greater' },
  definition: { isValid: isObject, rule: 'must be an object' },
}

/** Returns the content, or the first fault. The service checks the definition. */
function parse(text: string): AutomationFile | string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return `not valid JSON: ${(error as Error).message}`
  }
  if (!isObject(value)) return 'must be an object with name and definition'
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(fields, name))
  if (unknown !== undefined) return `${unknown}: unknown field; use ${Object.keys(fields).join(', ')}`
  if (value.name === undefined) return 'name: required'
  for (const [name, { isValid, rule }] of Object.entries(fields)) {
    if (value[name] !== undefined && !isValid(value[name])) return `${name}: ${rule}`
  }
  return value as AutomationFile
}

/** The canonical text. Fields that are undefined are absent. */
export function formatFile(content: AutomationFile): string {
  const names = Object.keys(fields) as (keyof AutomationFile)[]
  return `${JSON.stringify(Object.fromEntries(names.map((name) => [name, content[name]])), null, 2)}\n`
}

const maxFileName = 60

/** A file name that is not taken: `Welcome menu` becomes `welcome-menu.json`. */
export function fileNameOf(name: string, taken: ReadonlySet<string>): string {
  const words =
    name
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  const base = [...words.join('-')].slice(0, maxFileName).join('').normalize('NFC').replace(/-$/, '') || 'automation'
  for (let number = 1; ; number++) {
    const file = `${base}${number === 1 ? '' : `-${number}`}.json`
    if (!taken.has(file)) return file
  }
}

const maxPaths = 5

/** The paths at which two values differ, such as `steps[0].message.text`, at most five. */
export function listDifferences(before: unknown, after: unknown): string[] {
  const paths = differencesOf(before, after, '')
  return paths.length > maxPaths ? [...paths.slice(0, maxPaths), '…'] : paths
}

function differencesOf(before: unknown, after: unknown, path: string): string[] {
  if (Array.isArray(before) && Array.isArray(after)) {
    const length = Math.max(before.length, after.length)
    return Array.from({ length }, (_, i) => differencesOf(before[i], after[i], `${path}[${i}]`)).flat()
  }
  if (isObject(before) && isObject(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...names].flatMap((name) => differencesOf(before[name], after[name], path ? `${path}.${name}` : name))
  }
  return before === after ? [] : [path]
}
