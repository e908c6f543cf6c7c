/** Who is in a conversation: the other members, in its row, its header and beside the reply box, and the visitor who types. */
import { Avatar } from '../../../../ui/display.tsx'
import { Icon } from '../../../../ui/icon.tsx'
import { type Presence, usePresence, useVisitorTyping } from '../../lib/presence.ts'
import { useSession } from '../../lib/session.tsx'
import { words } from '../../words/words.ts'

const { presence: labels } = words.inbox

type Props = { conversationId: string }

const maxAvatars = 3

export function RowPresence({ conversationId }: Props) {
  const others = useOthers(conversationId)
  if (others.length === 0) return null
  const text = describe(others)
  return (
    <span className="inbox-presence soft" title={text}>
      <Avatars members={others} />
      <span className="offscreen">{text}</span>
    </span>
  )
}

/** The status stays in the page when it is empty: screen readers announce only changes of an existing one. */
export function ThreadPresence({ conversationId }: Props) {
  const others = useOthers(conversationId)
  return (
    <p className="inbox-presence soft inbox-presence-head" role="status" title={describe(others)}>
      {others.length > 0 && (
        <>
          <Avatars members={others} />
          <span className="inbox-presence-text cut">{describe(others)}</span>
        </>
      )}
    </p>
  )
}

/** In words, because the header has no space for them in a narrow thread. The header announces them to screen readers. */
export function ComposerPresence({ conversationId }: Props) {
  const others = useOthers(conversationId)
  if (others.length === 0) return null
  const isTyping = others.some(({ typing }) => typing)
  return (
    <p className="line inbox-typing soft" data-typing={isTyping ? '' : undefined} aria-hidden="true">
      <Icon name={isTyping ? 'edit' : 'eye'} />
      <span className="cut">{describe(others)}</span>
    </p>
  )
}

/** That the visitor of a web chat types, below the messages. The status stays in the page when it is empty, as above. */
export function VisitorTyping({ conversationId, name }: Props & { name: string }) {
  const isTyping = useVisitorTyping(conversationId)
  return (
    <p className="inbox-visitor-typing soft small" role="status">
      {isTyping && labels.visitorTyping(name)}
    </p>
  )
}

const Avatars = ({ members }: { members: readonly Presence[] }) => (
  <span className="inbox-presence-avatars">
    {members.slice(0, maxAvatars).map(({ member_id, name, typing }) => (
      <span key={member_id} data-typing={typing ? '' : undefined}>
        <Avatar name={name} size="small" />
      </span>
    ))}
  </span>
)

function useOthers(conversationId: string): readonly Presence[] {
  const { member } = useSession()
  return usePresence(conversationId).filter(({ member_id }) => member_id !== member.id)
}

/** Members who write a reply come first: they matter most to a member who is about to reply. */
function describe(members: readonly Presence[]): string {
  const namesOf = (typing: Presence['typing']) => members.filter((one) => one.typing === typing).map(({ name }) => name)
  const [replying, noting, viewing] = [namesOf('reply'), namesOf('note'), namesOf(null)]
  if (replying.length > 0) return labels.typing.reply(replying)
  if (noting.length > 0) return labels.typing.note(noting)
  return viewing.length > 0 ? labels.viewing(viewing) : ''
}
