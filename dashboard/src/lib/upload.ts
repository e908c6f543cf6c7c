/** Bring a file to the service: what it is and whether it may be sent, the service says. */
import { type AnswerOf, type DataOf, messageOf, pathOf, readAnswer } from './api.ts'

export type Uploaded = DataOf<'POST /uploads'>

/** The field is the file itself, so it need not be named. */
export const uploadFault = (error: unknown): string =>
  messageOf(error).replace(/^body: (.)/i, (_, first: string) => first.toUpperCase())

/** `fetch` tells nothing of how far it has got. */
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
    request.onerror = () => reject(new TypeError('the line broke'))
    request.onabort = () => reject(new TypeError('taken back'))
    request.send(file)
  })
  const answer = await readAnswer<AnswerOf<'POST /uploads'>>(new Response(text, { status: request.status }))
  return answer.data
}
