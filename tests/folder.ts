import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Owner } from './owner.ts'

/** A temporary folder that lives as long as its owner. A program that was killed may write to it for a moment. */
export function createFolder(owner: Owner): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-'))
  owner.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20 }))
  return folder
}
