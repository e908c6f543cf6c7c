/** The files attached to a reply: preview, upload progress or upload error. */
import './attachments.css'
import { IconButton } from '../../../../ui/controls.tsx'
import { Progress } from '../../../../ui/display.tsx'
import { Icon, type IconName } from '../../../../ui/icon.tsx'
import { formatBytes } from '../../lib/time.ts'
import { words } from '../../words/words.ts'
import type { Attachment } from './use-attachments.ts'

const { composer } = words.inbox

type Props = { attachments: readonly Attachment[]; onRemove: (attachment: Attachment) => void }

export function Attachments({ attachments, onRemove }: Props) {
  if (attachments.length === 0) return null
  return (
    <ul className="inbox-attachments">
      {attachments.map((attachment) => {
        const { key, name, size, preview, percent, uploaded, error } = attachment
        const icon: IconName = uploaded?.type ?? 'document'
        return (
          <li key={key} data-error={error ? '' : undefined}>
            {preview && !error ? <img src={preview} alt="" /> : <Icon name={icon} />}
            <span className="stack inbox-attachment-text grow">
              <span className="cut">{name}</span>
              {error ? (
                <span className="error" role="alert">
                  {error}
                </span>
              ) : uploaded ? (
                <span className="soft">{formatBytes(size)}</span>
              ) : (
                <Progress label={composer.uploading(percent)} total={100} parts={[{ value: percent }]} />
              )}
            </span>
            <IconButton label={composer.remove(name)} icon="close" onClick={() => onRemove(attachment)} />
          </li>
        )
      })}
    </ul>
  )
}
