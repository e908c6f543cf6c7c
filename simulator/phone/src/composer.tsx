/** Where the customer writes: text, a reply, a file with a caption, a voice note, a location. */
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { IconButton } from '../../../ui/controls.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { useToast } from '../../../ui/overlays.tsx'
import type { Bubble } from './api.ts'
import { summaryOf } from './format.tsx'
import { locations } from './samples.ts'
import type { Outgoing } from './use-outbox.ts'
import { useRecorder } from './use-recorder.ts'

type ComposerProps = {
  customer: string
  businessName: string
  /** The social channel has no locations. */
  hasLocations: boolean
  quoted: Bubble | undefined
  onQuote: (bubble: Bubble | undefined) => void
  file: File | undefined
  onFile: (file: File | undefined) => void
  onSend: (message: Outgoing) => void
}

export function Composer(props: ComposerProps) {
  const { customer, businessName, hasLocations, quoted, onQuote, file, onFile, onSend } = props
  const toast = useToast()
  const [text, setText] = useState('')
  const input = useRef<HTMLTextAreaElement>(null)
  const picker = useRef<HTMLInputElement>(null)
  const recorder = useRecorder((note) => send({ type: 'audio', file: note }))
  const canSend = text.trim() !== '' || file !== undefined

  useEffect(() => {
    if (quoted || file) input.current?.focus()
  }, [quoted, file])

  function send(message: Outgoing) {
    onSend({ ...message, ...(quoted ? { reply_to: quoted.id } : {}) })
    onQuote(undefined)
  }
  function submit(event: FormEvent) {
    event.preventDefault()
    if (!canSend) return
    const trimmed = text.trim()
    const content = trimmed ? { text: trimmed } : {}
    send(file ? { type: messageTypeOf(file), file, ...content } : { type: 'text', ...content })
    setText('')
    onFile(undefined)
    input.current?.focus()
  }
  function handleKey(event: KeyboardEvent<HTMLTextAreaElement>) {
    if (event.key === 'Escape') {
      onQuote(undefined)
      onFile(undefined)
    }
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    event.currentTarget.form?.requestSubmit()
  }
  const sendSampleNote = () => send({ type: 'audio', media: { mime_type: 'audio/ogg' } })
  async function record() {
    if (await recorder.start()) return
    toast.success('No microphone is available. A sample voice note was sent instead.')
    sendSampleNote()
  }

  return (
    <form className="composer" aria-label={`Write as ${customer}`} onSubmit={submit}>
      {quoted && (
        <div className="attachment">
          <span className="quote">
            <strong>{quoted.from === 'customer' ? 'You' : businessName}</strong>
            <span dir="auto">{summaryOf(quoted)}</span>
          </span>
          <IconButton icon="close" label="Remove the quote" onClick={() => onQuote(undefined)} />
        </div>
      )}
      {file && (
        <div className="attachment">
          <FilePreview file={file} />
          <IconButton icon="close" label="Remove the file" onClick={() => onFile(undefined)} />
        </div>
      )}
      {recorder.seconds === undefined ? (
        <div className="composer-row">
          <Menu
            label="Attach"
            align="start"
            side="top"
            button={<IconButton size="medium" icon="plus" label="Attach" />}
            items={[
              { icon: 'image', label: 'Picture or file', onSelect: () => picker.current?.click() },
              { icon: 'audio', label: 'Sample voice note', onSelect: sendSampleNote },
              ...(hasLocations ? locations : []).map((location) => ({
                icon: 'location' as const,
                label: location.name,
                onSelect: () => send({ type: 'location', location }),
              })),
            ]}
          />
          <textarea
            ref={input}
            rows={1}
            dir="auto"
            value={text}
            placeholder="Write a message"
            aria-label={`Write as ${customer}`}
            enterKeyHint="send"
            onChange={(event) => setText(event.target.value)}
            onKeyDown={handleKey}
            onPaste={(event) => {
              const [pasted] = event.clipboardData.files
              if (!pasted) return
              event.preventDefault()
              onFile(pasted)
            }}
          />
          {canSend ? (
            <IconButton size="medium" type="submit" variant="primary" icon="send" label="Send" />
          ) : (
            <IconButton size="medium" icon="audio" label="Record a voice note" onClick={record} />
          )}
        </div>
      ) : (
        <div className="composer-row">
          <IconButton size="medium" icon="trash" label="Discard the voice note" onClick={recorder.cancel} />
          <span className="recording">
            Recording
            <span role="timer" aria-label="Recorded">
              {Math.floor(recorder.seconds / 60)}:{String(recorder.seconds % 60).padStart(2, '0')}
            </span>
          </span>
          <IconButton
            size="medium"
            autoFocus
            variant="primary"
            icon="send"
            label="Send the voice note"
            onClick={recorder.finish}
          />
        </div>
      )}
      <input
        ref={picker}
        type="file"
        className="offscreen"
        tabIndex={-1}
        aria-hidden="true"
        aria-label="Picture or file"
        onChange={(event) => {
          onFile(event.target.files?.[0])
          event.target.value = ''
        }}
      />
    </form>
  )
}

function FilePreview({ file }: { file: File }) {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    if (!file.type.startsWith('image/')) return setUrl(undefined)
    const objectUrl = URL.createObjectURL(file)
    setUrl(objectUrl)
    return () => URL.revokeObjectURL(objectUrl)
  }, [file])
  const size =
    file.size < 1e6 ? `${Math.max(1, Math.round(file.size / 1000))} kB` : `${(file.size / 1e6).toFixed(1)} MB`
  return (
    <span className="line file">
      {url ? <img src={url} alt="" /> : <Icon name="document" />}
      <span>
        <strong>{file.name}</strong>
        <small>{size}</small>
      </span>
    </span>
  )
}

function messageTypeOf({ type }: File): string {
  const [family = ''] = type.split('/')
  return ['image', 'video', 'audio'].includes(family) ? family : 'document'
}
