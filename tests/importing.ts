/** Imports of contacts at the calls of the dashboard: upload, check, start, and wait for the worker. */
import assert from 'node:assert/strict'
import type { Answer } from './assertions.ts'
import { dataOf } from './assertions.ts'
import type { Browser } from './browser.ts'
import type { Json } from './owner.ts'
import { until } from './until.ts'

export type Target = { to: string; key?: string; type?: string; separator?: string }
export type CheckRequest = {
  mapping?: Target[]
  options?: { tag: string | null; update: string }
  save_mapping?: boolean
}

type Importer = {
  upload(file: string | Buffer, headers?: Record<string, string>, filename?: string): Promise<Answer>
  /** Uploads a file that must be accepted. Returns the import. */
  accept(file: string | Buffer): Promise<Json>
  /** Waits until no worker has anything to do for the import. */
  settle(id: string): Promise<Json>
  /** Uploads and checks a file, by default with the suggested mapping. */
  check(file: string | Buffer, request?: CheckRequest): Promise<Json>
  /** Uploads, checks and imports a file, whose check must agree with the import. */
  importFile(file: string | Buffer, request?: CheckRequest): Promise<Json>
  undo(id: string): Promise<Json>
  /** The rejected rows: line and reason. */
  rejected(id: string): Promise<[line: number, reason: string][]>
  download(path: string): Promise<string>
}

const running = ['checking', 'importing', 'undoing']

export function createImporter(browser: Browser): Importer {
  const base = `${browser.url}/app/api`
  const headers = () => ({ origin: browser.origin, cookie: browser.cookie() })

  const upload: Importer['upload'] = async (file, others = {}, filename = 'people.csv') => {
    const response = await fetch(`${base}/imports?filename=${encodeURIComponent(filename)}`, {
      method: 'POST',
      headers: { ...headers(), 'content-type': 'text/csv', ...others },
      body: new Uint8Array(Buffer.from(file)),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
  }
  const accept: Importer['accept'] = async (file) => dataOf(await upload(file), 201)
  const settle: Importer['settle'] = (id) =>
    until('the worker', async () => {
      const { data } = await browser.ask('GET', `/imports/${id}`)
      return !running.includes(data.state) && data
    })
  const request = async (id: string, { mapping, ...others }: CheckRequest, suggested: Target[]) => {
    await browser.ask('POST', `/imports/${id}/check`, { mapping: mapping ?? suggested, ...others })
    return settle(id)
  }
  const check: Importer['check'] = async (file, wanted = {}) => {
    const uploaded = await accept(file)
    return request(uploaded.id, wanted, uploaded.mapping)
  }
  const importFile: Importer['importFile'] = async (file, wanted) => {
    const checked = await check(file, wanted)
    assert.equal(checked.state, 'checked', checked.error)
    await browser.ask('POST', `/imports/${checked.id}/start`)
    const done = await settle(checked.id)
    assert.equal(done.state, 'done', done.error)
    assert.deepEqual(done.result, done.check, 'the import differs from its check')
    assert.equal(done.progress, null)
    return done
  }
  const undo: Importer['undo'] = async (id) => {
    await browser.ask('POST', `/imports/${id}/undo`)
    const undone = await settle(id)
    assert.equal(undone.state, 'undone', undone.error)
    return undone
  }
  const download: Importer['download'] = async (path) => {
    const response = await fetch(`${base}${path}`, { headers: headers() })
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8')
    // As bytes: `text()` removes the byte order mark.
    return Buffer.from(await response.arrayBuffer()).toString()
  }
  const rejected: Importer['rejected'] = async (id) => {
    const text = await download(`/imports/${id}/rejected.csv`)
    return [...text.matchAll(/^(\d+),("(?:[^"]|"")*"|[^,\r\n]*)/gm)].map(([, line, reason = '']) => [
      Number(line),
      reason.replace(/^"|"$/g, ''),
    ])
  }
  return { upload, accept, settle, check, importFile, undo, rejected, download }
}

/** The counts of a result: created, changed, unchanged, rejected. */
export const countsOf = ({ created, changed, unchanged, rejected }: Json): number[] => [
  created,
  changed,
  unchanged,
  rejected,
]
