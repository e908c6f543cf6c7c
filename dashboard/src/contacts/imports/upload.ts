/** Uploads the file of an import. */
import { type AnswerOf, pathOf, readAnswer } from '../../lib/api.ts'
import type { Import } from './state.tsx'

/** Uses `XMLHttpRequest`, because `fetch` does not report upload progress. */
export async function uploadImport(
  request: XMLHttpRequest,
  file: File,
  onProgress: (percent: number) => void,
): Promise<Import> {
  const text = await new Promise<string>((resolve, reject) => {
    request.open('POST', pathOf('POST /imports', { query: { filename: file.name } }))
    request.setRequestHeader('content-type', 'text/csv')
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? Math.floor((loaded / total) * 100) : 0)
    request.onload = () => resolve(request.responseText)
    request.onerror = () => reject(new TypeError('the connection was lost'))
    request.onabort = () => reject(new UploadCanceled())
    request.send(file)
  })
  const answer = await readAnswer<AnswerOf<'POST /imports'>>(new Response(text, { status: request.status }))
  return answer.data
}

export class UploadCanceled extends Error {}
