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

/** `onLate`: keeps a file whose upload ends after the form is gone. Without it, such an upload is aborted. */
export function useAttachments(initial: readonly Uploaded[] = [], onLate?: (uploaded: Uploaded) => void) {
  const [attachments, setAttachments] = useState<readonly Attachment[]>(() => initial.map(toAttachment))
  const requests = useRef(new Map<string, XMLHttpRequest>())
  const count = useRef(0)
  const isGone = useRef(false)
  const late = useRef(onLate)

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
        .then((answer) => {
          const uploaded = type ? { ...answer, type } : answer
          update({ uploaded })
          if (isGone.current) late.current?.(uploaded)
        })
        .catch((error: unknown) => update({ error: uploadError(error) }))
        .finally(() => requests.current.delete(key))
    }
  }, [])
  /** Adds files that are uploaded already. */
  const addUploaded = useCallback((files: readonly Uploaded[]) => {
    setAttachments((all) => {
      const isKnown = ({ media_url: url }: Uploaded) =>
        all.some(({ key, uploaded }) => key === url || uploaded?.media_url === url)
      const added = files.filter((file) => !isKnown(file)).map(toAttachment)
      return added.length > 0 ? [...all, ...added] : all
    })
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
    isGone.current = false
    return () => {
      isGone.current = true
      if (!late.current) for (const request of open.values()) request.abort()
    }
  }, [])
  return { attachments, add, addUploaded, remove }
}

function toAttachment(uploaded: Uploaded): Attachment {
  const { media_url: key, filename, size_bytes: size, type } = uploaded
  const preview = type === 'image' ? key : undefined
  return { key, name: filename ?? type, size, preview, percent: 100, uploaded, error: undefined }
}
