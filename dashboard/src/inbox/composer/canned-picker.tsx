/** The list of canned replies above the reply box, with a search field: opened by its button. */
import { describeError, useCall } from '../../lib/api.ts'
import { words } from '../../words/words.ts'
import type { Conversation } from '../model/data.ts'
import { CannedFoot, CannedOption } from './canned-option.tsx'
import { type CannedReply, findReplies } from './canned-replies.ts'
import { PickerPopup } from './picker-popup.tsx'

const { canned: labels } = words.inbox

type Props = { contact: Conversation['contact']; onPick: (reply: CannedReply) => void; onClose: () => void }

export default function CannedPicker({ contact, onPick, onClose }: Props) {
  const { data, error } = useCall('GET /canned-replies', {}, { live: true })
  return (
    <PickerPopup
      label={labels.title}
      searchLabel={labels.search}
      columns={1}
      find={(search) => findReplies(data ?? [], search.replace(/^\//, ''))}
      keyOf={({ id }) => id}
      render={(reply) => <CannedOption reply={reply} contact={contact} />}
      empty={(search) =>
        !data ? (error ? describeError(error) : words.common.loading) : search ? labels.noMatch(search) : labels.none
      }
      onPick={onPick}
      onClose={onClose}
    >
      <CannedFoot />
    </PickerPopup>
  )
}
