/** Uploads a file of contacts and reads the streamed response: one JSON object per line, progress first, the report last. */
import { type AnswerOf, CallError, pathOf, readAnswer } from '../lib/api.ts'

type Line = AnswerOf<'POST /contacts/import'>
export type ImportReport = NonNullable<Line['data']>
export type Progress = NonNullable<Line['progress']>

/** Returns undefined when the connection was lost before the report. */
export async function importFile(
  file: Blob,
  { isDry, onProgress, signal }: { isDry: boolean; onProgress: (progress: Progress) => void; signal: AbortSignal },
): Promise<ImportReport | undefined> {
  const response = await fetch(pathOf('POST /contacts/import', { query: { dry_run: isDry } }), {
    method: 'POST',
    body: file,
    headers: { 'content-type': 'text/csv' },
    signal,
  })
  if (!response.ok || !response.body) return readAnswer(response)
  let report: ImportReport | undefined
  for await (const line of linesOf(response.body)) {
    const { progress, data, error } = JSON.parse(line) as Line
    if (error) throw new CallError(400, error.code, error.message)
    if (progress) onProgress(progress)
    report = data ?? report
  }
  return report
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    const lines = (rest + decoder.decode(value, { stream: !done })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines.filter(Boolean)
    if (done) break
  }
  if (rest) yield rest
}
