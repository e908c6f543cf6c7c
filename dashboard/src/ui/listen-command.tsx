/** The command that shows the events of the workspace on a computer without Parley: npm downloads it from this service. */
import { Secret } from '../../../ui/display.tsx'
import { words } from '../words/words.ts'
import { Marked } from './marked.tsx'

export const ListenCommand = () => (
  <>
    <p>
      <Marked text={words.common.listen} />
    </p>
    <Secret text={words.common.listenCommand(location.origin)} />
  </>
)
