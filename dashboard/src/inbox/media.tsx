/**
 * Images, films, sounds and files of a message. Each has its size before it is
 * loaded, so that nothing jumps. An image opens full size.
 */
import { useState } from 'react'
import { Dialog } from '../../../ui/dialog.tsx'
import { Icon, type IconName } from '../../../ui/icon.tsx'
import { formatBytes } from '../lib/time.ts'
import { words } from '../words/words.ts'
import type { Message } from './data.ts'
import { showableUrl, textOf, webUrl } from './read.ts'

const { message: said } = words.inbox

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
  if (!url) {
    const isLost = media?.state === 'failed'
    return <FileCard icon={icon} title={name || said.kinds[type]} line={isLost ? said.lost : said.coming} />
  }
  const shown = showableUrl(url)
  if (!shown || type === 'document') {
    const size = media?.size_bytes ? formatBytes(media.size_bytes) : ''
    const href = shown ?? webUrl(url)
    return (
      <FileCard icon={icon} title={name || said.kinds[type]} line={size || said.open(said.kinds[type])} href={href} />
    )
  }
  if (type === 'image') return <Picture url={shown} name={name} />
  if (type === 'sticker') return <img className="inbox-sticker" src={shown} alt={said.kinds.sticker} loading="lazy" />
  if (type === 'video') {
    return (
      // biome-ignore lint/a11y/useMediaCaption: what a customer filmed has no captions.
      <video className="inbox-video" src={shown} controls preload="metadata" aria-label={said.kinds.video} />
    )
  }
  return (
    // biome-ignore lint/a11y/useMediaCaption: what a customer said has no captions.
    <audio className="inbox-audio" src={shown} controls preload="metadata" aria-label={said.kinds.audio} />
  )
}

export function Picture({ url, name }: { url: string; name: string }) {
  const [isOpen, setOpen] = useState(false)
  const [isBroken, setBroken] = useState(false)
  if (isBroken) return <FileCard icon="image" title={name || said.image} line={said.open(said.image)} href={url} />
  return (
    <>
      <button type="button" className="inbox-picture" aria-label={said.openImage} onClick={() => setOpen(true)}>
        <img src={url} alt={name || said.image} loading="lazy" onError={() => setBroken(true)} />
      </button>
      {isOpen && (
        <Dialog title={name || said.image} size="wide" onClose={() => setOpen(false)}>
          <img className="inbox-full" src={url} alt={name || said.image} />
        </Dialog>
      )}
    </>
  )
}

type FileProps = { icon: IconName; title: string; line: string; href?: string | undefined }

export function FileCard({ icon, title, line, href }: FileProps) {
  const inside = (
    <>
      <span className="inbox-card-mark">
        <Icon name={icon} />
      </span>
      <span className="inbox-card-text">
        <strong className="cut">{title}</strong>
        <span>{line}</span>
      </span>
    </>
  )
  if (!href) return <div className="inbox-card">{inside}</div>
  return (
    <a className="inbox-card" href={href} target="_blank" rel="noopener noreferrer">
      {inside}
      <Icon name="download" />
    </a>
  )
}
