/** Creating folders. */
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { hasCode } from './process/start-error.ts'

/**
 * Creates a folder with the parents that are missing. Returns false if it exists already.
 *
 * Node's recursive mkdir does not end where the parent exists and the system still answers ENOENT, as in /proc. It blocks the process
 * meanwhile, so not even a signal ends it.
 */
export function resolveFolder(folder: string, mode?: number, hasParent = false): boolean {
  try {
    mkdirSync(folder, mode)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST') && statSync(folder).isDirectory()) return false
    if (!hasCode(error, 'ENOENT') || hasParent) throw error
  }
  // Another process may create the parent at the same time.
  if (!existsSync(dirname(folder))) resolveFolder(dirname(folder), mode)
  return resolveFolder(folder, mode, true)
}
