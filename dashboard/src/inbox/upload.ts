/**
 * Files that somebody brings to send. Each goes to the service at once, with
 * its progress; what it is and whether it may be sent, the service says.
 */
import { useCallback, useEffect, useRef, useState } from 'react'
import { type AnswerOf, type DataOf, messageOf, pathOf, readAnswer } from '../lib/api.ts'

export type Uploaded = DataOf<'POST /uploads'>

export type Attachment = {
  key: string
  name: string
  size: number
  /** For a look at it, while it is an image. */
  preview: string | undefined
  percent: number
  uploaded: Uploaded | undefined
  fault: string | undefined
}

export function useAttachments() {
  const [attachments, setAttachments] = useState<readonly Attachment[]>([])
  const requests = useRef(new Map<string, XMLHttpRequest>())
  const count = useRef(0)

  const add = useCallback((files: Iterable<File>) => {
    for (const file of files) {
      count.current += 1
      const key = String(count.current)
      const change = (changes: Partial<Attachment>) =>
        setAttachments((all) => all.map((one) => (one.key === key ? { ...one, ...changes } : one)))
      const preview = file.type.startsWith('image/') ? URL.createObjectURL(file) : undefined
      const attachment = { key, name: file.name, size: file.size, preview, percent: 0 }
      setAttachments((all) => [...all, { ...attachment, uploaded: undefined, fault: undefined }])
      const request = new XMLHttpRequest()
      requests.current.set(key, request)
      upload(request, file, (percent) => change({ percent }))
        .then((uploaded) => change({ uploaded }))
        .catch((error: unknown) => change({ fault: faultOf(error) }))
        .finally(() => requests.current.delete(key))
    }
  }, [])
  const forget = useCallback((gone: readonly Attachment[]) => {
    for (const { key, preview } of gone) {
      requests.current.get(key)?.abort()
      if (preview) URL.revokeObjectURL(preview)
    }
    setAttachments((all) => all.filter((one) => !gone.includes(one)))
  }, [])
  useEffect(() => {
    const { current: open } = requests
    return () => {
      for (const request of open.values()) request.abort()
    }
  }, [])
  return { attachments, add, forget }
}

/** The field is the file itself, so it need not be named. */
export const faultOf = (error: unknown): string =>
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
