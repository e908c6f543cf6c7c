/** Images, videos, audio and files of a message. Their size is fixed before they load, which avoids layout shifts. */
import { useState } from 'react'
import { Icon, type IconName } from '../../../../ui/icon.tsx'
import { Dialog } from '../../../../ui/overlays.tsx'
import { formatBytes } from '../../lib/time.ts'
import { words } from '../../words/words.ts'
import type { Message } from '../model/data.ts'
import { showableUrl, textOf, webUrl } from './parse-content.ts'

const { message: labels } = words.inbox

const icons: Partial<Record<Message['content_type'], IconName>> = {
  image: 'image',
  sticker: 'smile',
  video: 'video',
  audio: 'audio',
}

export function Media({ message }: { message: Message }) {
  const { content_type: type, media_url: url, media, content } = message
  const icon = icons[type] ?? 'document'
  const name = media?.filename ?? textOf(content?.filename) ?? ''
  const [isBroken, setBroken] = useState(false)
  if (!url) return <FileCard icon={icon} title={name || labels.kinds[type]} line={describeMissing(message)} />
  const showable = showableUrl(url)
  if (!showable || isBroken || type === 'document') {
    const size = media?.size_bytes ? formatBytes(media.size_bytes) : ''
    const href = showable ?? webUrl(url)
    return (
      <FileCard
        icon={icon}
        title={name || labels.kinds[type]}
        line={size || labels.open(labels.kinds[type])}
        href={href}
      />
    )
  }
  if (type === 'image') return <Picture url={showable} name={name} />
  if (type === 'sticker')
    return (
      <img
        className="inbox-sticker"
        src={showable}
        alt={labels.kinds.sticker}
        loading="lazy"
        onError={() => setBroken(true)}
      />
    )
  // Files from customers have no captions.
  const Player = type === 'video' ? 'video' : 'audio'
  return (
    <Player
      className={`inbox-${Player}`}
      src={showable}
      controls
      preload="metadata"
      aria-label={labels.kinds[Player]}
      onError={() => setBroken(true)}
    />
  )
}

/** The service gives up a download after about 13 minutes. */
const downloadMs = 15 * 60_000

/** Why a message has no file: it is being fetched, could not be fetched, or the service never had it. */
function describeMissing({ media, created_at: at }: Message): string {
  if (!media) return labels.fileLost
  if (media.state === 'failed') return labels.downloadFailed
  return Date.now() - Date.parse(at) < downloadMs ? labels.downloading : labels.downloadLate
}

export function Picture({ url, name }: { url: string; name: string }) {
  const [isOpen, setOpen] = useState(false)
  const [isBroken, setBroken] = useState(false)
  if (isBroken)
    return <FileCard icon="image" title={name || labels.image} line={labels.open(labels.image)} href={url} />
  return (
    <>
      <button type="button" className="inbox-picture" aria-label={labels.openImage} onClick={() => setOpen(true)}>
        <img src={url} alt={name || labels.image} loading="lazy" onError={() => setBroken(true)} />
      </button>
      {isOpen && (
        <Dialog title={name || labels.image} size="wide" onClose={() => setOpen(false)}>
          <img className="inbox-full" src={url} alt={name || labels.image} />
        </Dialog>
      )}
    </>
  )
}

type FileProps = { icon: IconName; title: string; line: string; href?: string | undefined }

export function FileCard({ icon, title, line, href }: FileProps) {
  const content = (
    <>
      <span className="mark inbox-card-mark">
        <Icon name={icon} />
      </span>
      <span className="inbox-card-text">
        <strong className="cut">{title}</strong>
        <span>{line}</span>
      </span>
    </>
  )
  if (!href) return <div className="line inbox-card">{content}</div>
  return (
    <a className="line inbox-card" href={href} target="_blank" rel="noopener noreferrer">
      {content}
      <Icon name="download" />
    </a>
  )
}
