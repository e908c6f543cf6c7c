/** The button that starts a conversation, and its dialog, which loads when it is first opened. Viewers do not see it. */
import { useEffect, useState } from 'react'
import { Button, IconButton } from '../../../../ui/controls.tsx'
import { deferred } from '../../lib/deferred.tsx'
import { useCanWrite } from '../../lib/session.tsx'
import { useHeldShortcuts, useShortcuts } from '../../lib/shortcuts.ts'
import { words } from '../../words/words.ts'
import type NewConversationDialog from './new-conversation.tsx'

const NewConversation = deferred(() => import('./new-conversation.tsx'))

const { start: labels } = words.inbox

type Props = Pick<Parameters<typeof NewConversationDialog>[0], 'contact'> & {
  /** `icon` has no text; `key` also reacts to the shortcut. */
  kind?: 'text' | 'icon' | 'key'
}

export function StartConversation({ contact, kind = 'text' }: Props) {
  const [isOpen, setOpen] = useState(false)
  const canWrite = useCanWrite()
  const open = () => setOpen(true)
  useShortcuts(kind === 'key' && canWrite ? { c: open } : {})
  useHeldShortcuts(isOpen)
  // Early, so that it opens at once.
  useEffect(() => {
    if (kind === 'key') NewConversation.preload()
  }, [kind])
  if (!canWrite) return null
  return (
    <>
      {kind === 'text' ? (
        <Button label={labels.title} icon="chat" onClick={open} />
      ) : (
        <IconButton label={labels.title} icon={kind === 'key' ? 'plus' : 'chat'} onClick={open} />
      )}
      {isOpen && <NewConversation contact={contact} onClose={() => setOpen(false)} />}
    </>
  )
}
