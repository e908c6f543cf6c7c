/**
 * A check of an installation: it runs within a time limit, never throws, and returns findings with the fix for each.
 */
import { within } from '../lib/time.ts'

export type State = 'ok' | 'warning' | 'problem' | 'skipped'

/** `fix` is null for `ok` and `skipped`. */
export type Finding = { name: string; state: State; found: string; fix: string | null }

/** A finding without the name of its check. */
export type Result = Omit<Finding, 'name'>

export const ok = (found: string): Result => ({ state: 'ok', found, fix: null })
export const skipped = (found: string): Result => ({ state: 'skipped', found, fix: null })
export const warning = (found: string, fix: string): Result => ({ state: 'warning', found, fix })
export const problem = (found: string, fix: string): Result => ({ state: 'problem', found, fix })

/** Long enough for a slow network, and three checks that wait for each other take less than 15 seconds. */
export const checkMs = 4_500

/** Runs a check. Its error or its silence is a finding as well. */
export async function check(name: string, run: () => Promise<Result | Result[]>): Promise<Finding[]> {
  const fix = 'Run the command again; if it fails again, report it with this output.'
  try {
    const results = await within(checkMs, run())
    const found = results ?? warning(`the check did not end within ${checkMs / 1000} s`, fix)
    return [found].flat().map((result) => ({ name, ...result }))
  } catch (error) {
    return [{ name, ...problem(`the check failed: ${toLine(error)}`, fix) }]
  }
}

const maxLine = 300

/** The message of an error in one line. Several errors of one attempt, such as one per address, are joined. */
export function toLine(error: unknown): string {
  const { message, errors, code } = error as { message?: string; errors?: unknown[]; code?: string }
  const text = errors?.length ? errors.map(toLine).join('; ') : message || code || String(error)
  return text.replace(/\s+/g, ' ').trim().slice(0, maxLine)
}

/** Replaces secrets that a message of another program may contain. */
export function createRedactor(secrets: readonly (string | undefined)[]): (finding: Finding) => Finding {
  // Shorter ones occur in ordinary words.
  const hidden = secrets.filter((secret) => secret !== undefined && secret.length >= 4) as string[]
  const redact = (text: string) => hidden.reduce((rest, secret) => rest.replaceAll(secret, '[hidden]'), text)
  return ({ name, state, found, fix }) => ({
    name,
    state,
    found: redact(found),
    fix: fix === null ? null : redact(fix),
  })
}

export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
