/** Files attached to a reply. Each is uploaded at once; the service determines its type and whether it can be sent. */
import { useCallback, useEffect, useRef, useState } from 'react'
import { type Uploaded, upload, uploadError } from '../../lib/upload.ts'

export type Attachment = {
  key: string
  name: string
  size: number
  /** The URL of an image, for its preview. */
  preview: string | undefined
  percent: number
  uploaded: Uploaded | undefined
  error: string | undefined
}

export function useAttachments(initial: readonly Uploaded[] = []) {
  const [attachments, setAttachments] = useState<readonly Attachment[]>(() => initial.map(toAttachment))
  const requests = useRef(new Map<string, XMLHttpRequest>())
  const count = useRef(0)

  /** `type`: sends the files as this type instead of the one that the service determines. */
  const add = useCallback((files: Iterable<File>, type?: Uploaded['type']) => {
    for (const file of files) {
      count.current += 1
      const key = String(count.current)
      const update = (changes: Partial<Attachment>) =>
        setAttachments((all) => all.map((one) => (one.key === key ? { ...one, ...changes } : one)))
      const preview = file.type.startsWith('image/') ? URL.createObjectURL(file) : undefined
      const attachment = { key, name: file.name, size: file.size, preview, percent: 0 }
      setAttachments((all) => [...all, { ...attachment, uploaded: undefined, error: undefined }])
      const request = new XMLHttpRequest()
      requests.current.set(key, request)
      upload(request, file, (percent) => update({ percent }))
        .then((uploaded) => update({ uploaded: type ? { ...uploaded, type } : uploaded }))
        .catch((error: unknown) => update({ error: uploadError(error) }))
        .finally(() => requests.current.delete(key))
    }
  }, [])
  /** Adds files that are uploaded already. */
  const addUploaded = useCallback((files: readonly Uploaded[]) => {
    setAttachments((all) => [
      ...all,
      ...files.filter(({ media_url: url }) => !all.some(({ key }) => key === url)).map(toAttachment),
    ])
  }, [])
  const remove = useCallback((removed: readonly Attachment[]) => {
    for (const { key, preview } of removed) {
      requests.current.get(key)?.abort()
      if (preview) URL.revokeObjectURL(preview)
    }
    setAttachments((all) => all.filter((one) => !removed.includes(one)))
  }, [])
  useEffect(() => {
    const { current: open } = requests
    return () => {
      for (const request of open.values()) request.abort()
    }
  }, [])
  return { attachments, add, addUploaded, remove }
}

function toAttachment(uploaded: Uploaded): Attachment {
  const { media_url: key, filename, size_bytes: size, type } = uploaded
  const preview = type === 'image' ? key : undefined
  return { key, name: filename ?? type, size, preview, percent: 100, uploaded, error: undefined }
}
