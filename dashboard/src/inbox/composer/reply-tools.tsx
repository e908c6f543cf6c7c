/** The tools of the reply box: files, emoji, canned replies, voice notes and templates. The popups load when they are first opened. */
import { lazy, type RefObject, Suspense } from 'react'
import { FilePicker, IconButton } from '../../../../ui/controls.tsx'
import { deferred } from '../../lib/deferred.tsx'
import type { Uploaded } from '../../lib/upload.ts'
import { words } from '../../words/words.ts'
import type { Conversation } from '../model/data.ts'
import type { CannedReply } from './canned-replies.ts'
import { insertText } from './text-edits.ts'

const EmojiPicker = deferred(() => import('./emoji-picker.tsx'))
const CannedPicker = deferred(() => import('./canned-picker.tsx'))
const VoiceNote = lazy(() => import('./voice-note.tsx'))

const { composer } = words.inbox

export type Tool = 'emoji' | 'canned' | 'voice'

type Props = {
  conversation: Conversation
  box: RefObject<HTMLTextAreaElement | null>
  tool: Tool | undefined
  onTool: (tool: Tool | undefined) => void
  /** Absent: the channel has no templates. */
  onTemplate: (() => void) | undefined
  onFiles: (files: Iterable<File>, type?: Uploaded['type']) => void
  onReply: (reply: CannedReply) => void
}

export function ReplyTools({ conversation, box, tool, onTool, onTemplate, onFiles, onReply }: Props) {
  const close = () => {
    onTool(undefined)
    box.current?.focus()
  }
  /** The popup took the focus; the box still has its selection. */
  const insert = (text: string) => {
    close()
    if (box.current && text) insertText(box.current, text)
  }
  const insertReply = (reply: CannedReply) => {
    close()
    onReply(reply)
  }
  const toggle = (name: Tool) => () => onTool(tool === name ? undefined : name)
  const button = (name: Tool, label: string, icon: 'smile' | 'bolt' | 'audio') => (
    <IconButton
      label={label}
      icon={icon}
      aria-haspopup="dialog"
      aria-expanded={tool === name}
      // A press outside the popup closes it; this one would open it again.
      onPointerDown={(event) => event.stopPropagation()}
      onClick={toggle(name)}
    />
  )
  return (
    <>
      <FilePicker
        label={composer.attach}
        button={(open) => <IconButton label={composer.attach} icon="attach" onClick={open} />}
        multiple
        onFiles={(files) => {
          onFiles(files)
          box.current?.focus()
        }}
      />
      {button('emoji', composer.emoji, 'smile')}
      {button('canned', composer.canned, 'bolt')}
      {button('voice', composer.voice, 'audio')}
      {onTemplate && <IconButton label={composer.template} icon="templates" onClick={onTemplate} />}
      <Suspense>
        {tool === 'emoji' && <EmojiPicker onPick={insert} onClose={close} />}
        {tool === 'canned' && <CannedPicker contact={conversation.contact} onPick={insertReply} onClose={close} />}
        {tool === 'voice' && (
          <VoiceNote
            channel={conversation.channel}
            onRecorded={(file) => {
              close()
              onFiles([file], 'audio')
            }}
            onClose={close}
          />
        )}
      </Suspense>
    </>
  )
}
