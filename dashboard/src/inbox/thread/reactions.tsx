/** The reactions on a message, and the button to react. One reaction per side: a new one replaces it, the same one removes it. */
import { Menu } from '@base-ui/react/menu'
import { cloneElement, useState } from 'react'
import { IconButton } from '../../../../ui/controls.tsx'
import { usePopupContainer } from '../../../../ui/overlays.tsx'
import { words } from '../../words/words.ts'
import type { Conversation, Message } from '../model/data.ts'
import type { Reactions } from './message-groups.ts'

const { message: labels } = words.inbox

/** An empty emoji removes the reaction. */
export type React = (message: Message, emoji: string) => void

const quickEmoji = ['👍', '❤️', '😂', '😮', '😢', '🙏']

/** The emoji that a channel accepts as a reaction. */
export const reactionsOn = (channel: Conversation['channel']): readonly string[] =>
  channel === 'msgapp' ? quickEmoji : channel === 'social' ? ['❤️'] : []

type BadgeProps = {
  message: Message
  reactions: NonNullable<ReturnType<Reactions['get']>>
  /** Absent: the member cannot react, so not remove a reaction either. */
  onReact: React | undefined
}

export function ReactionBadges({ message, reactions, onReact }: BadgeProps) {
  if (reactions.length === 0) return null
  return (
    <span className="inbox-reactions small">
      {reactions.map(({ side, emoji }) =>
        side === 'outbound' && onReact ? (
          <button
            key={side}
            type="button"
            aria-label={labels.removeReaction(emoji)}
            title={labels.removeReaction(emoji)}
            onClick={() => onReact(message, '')}
          >
            {emoji}
          </button>
        ) : (
          <span key={side} role="img" aria-label={labels.reacted(emoji)} title={labels.reacted(emoji)}>
            {emoji}
          </span>
        ),
      )}
    </span>
  )
}

type ButtonProps = { message: Message; choices: readonly string[]; current: string | undefined; onReact: React }

export function ReactButton({ message, choices, current, onReact }: ButtonProps) {
  // A thread has hundreds of messages: the menu of a message is built when it is first opened.
  const [isBuilt, setBuilt] = useState(false)
  const container = usePopupContainer()
  const react = (emoji: string) => onReact(message, emoji === current ? '' : emoji)
  const [only, ...others] = choices
  if (only && others.length === 0) {
    return <IconButton label={labels.reactWith(only)} icon="heart" onClick={() => react(only)} />
  }
  const button = <IconButton label={labels.react} icon="smile" aria-haspopup="menu" />
  if (!isBuilt) return cloneElement(button, { onClick: () => setBuilt(true) })
  return (
    <Menu.Root modal={false} orientation="horizontal" defaultOpen>
      <Menu.Trigger render={button} />
      <Menu.Portal container={container}>
        <Menu.Positioner className="popup" side="top" sideOffset={4} positionMethod="fixed">
          <Menu.Popup className="menu inbox-react" aria-label={labels.react} aria-labelledby={undefined}>
            {choices.map((emoji) => (
              <Menu.Item
                key={emoji}
                aria-label={emoji === current ? labels.removeReaction(emoji) : labels.reactWith(emoji)}
                data-current={emoji === current ? '' : undefined}
                onClick={() => react(emoji)}
              >
                {emoji}
              </Menu.Item>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
