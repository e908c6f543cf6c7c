/** Uploads a file. The service detects its type and checks whether a channel can send it. */
import { type AnswerOf, type DataOf, describeError, pathOf, readAnswer } from './api.ts'

export type Uploaded = DataOf<'POST /uploads'>

/** The error without its field name: the body is the file itself. */
export const uploadError = (error: unknown): string =>
  describeError(error).replace(/^body: (.)/i, (_, first: string) => first.toUpperCase())

/** Uses `XMLHttpRequest`, because `fetch` does not report upload progress. */
export async function upload(
  request: XMLHttpRequest,
  file: File,
  onProgress: (percent: number) => void,
): Promise<Uploaded> {
  const text = await new Promise<string>((resolve, reject) => {
    request.open('POST', pathOf('POST /uploads', { query: { filename: file.name } }))
    request.setRequestHeader('content-type', file.type || 'application/octet-stream')
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? Math.round((loaded / total) * 100) : 0)
    request.onload = () => resolve(request.responseText)
    request.onerror = () => reject(new TypeError('the connection was lost'))
    request.onabort = () => reject(new TypeError('the upload was cancelled'))
    request.send(file)
  })
  const answer = await readAnswer<AnswerOf<'POST /uploads'>>(new Response(text, { status: request.status }))
  return answer.data
}
