/**
 * Files that somebody brings to send. Each goes to the service at once, with
 * its progress; what it is and whether it may be sent, the service says.
 */
import { useCallback, useEffect, useRef, useState } from 'react'
import { type Uploaded, upload, uploadFault } from '../lib/upload.ts'

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
        .catch((error: unknown) => change({ fault: uploadFault(error) }))
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
