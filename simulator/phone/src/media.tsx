/**
 * Pictures, videos, voice notes, documents, locations and contacts in a message.
 *
 * The page's policy plays sound and video from its own origin only. Files of
 * other origins are opened in a new tab.
 */
import { useState } from 'react'
import { Icon, type IconName } from '../../../ui/icon.tsx'
import { Dialog } from '../../../ui/overlays.tsx'
import type { Location } from '../../wire/bubble.ts'
import type { Bubble } from './api.ts'
import { safeUrl } from './format.tsx'

type File = { url?: string | undefined; mime_type?: string | null; filename?: string | null | undefined }

const urlOf = ({ url }: File) => (url?.startsWith('blob:') ? url : safeUrl(url))

function ownUrlOf(file: File): string | undefined {
  const url = urlOf(file)
  return url && new URL(url).origin === location.origin ? url : undefined
}

type PictureProps = { file: File; alt?: string | undefined; isSticker?: boolean }

export function Picture({ file, alt, isSticker = false }: PictureProps) {
  const [hasFailed, setFailed] = useState(false)
  const [isEnlarged, setEnlarged] = useState(false)
  const src = urlOf(file)
  const title = alt || file.filename || (isSticker ? 'Sticker' : 'Picture')
  if (!src) return <Missing icon="image" text={title} />
  if (hasFailed) return <Missing icon="image" text="The picture could not be loaded" url={file.url} />
  const image = <img src={src} alt={title} referrerPolicy="no-referrer" onError={() => setFailed(true)} />
  if (isSticker) return <span className="sticker">{image}</span>
  return (
    <>
      <button type="button" className="picture" aria-label={`Enlarge ${title}`} onClick={() => setEnlarged(true)}>
        {image}
      </button>
      {isEnlarged && (
        <Dialog title={title} size="wide" onClose={() => setEnlarged(false)}>
          <img src={src} alt={title} referrerPolicy="no-referrer" />
        </Dialog>
      )}
    </>
  )
}

export function Video({ file }: { file: File }) {
  const [hasFailed, setFailed] = useState(false)
  const src = ownUrlOf(file)
  if (hasFailed) return <Missing icon="video" text="The video could not be loaded" url={file.url} />
  if (!src) return <Missing icon="video" text="Video" url={file.url} />
  return (
    // biome-ignore lint/a11y/useMediaCaption: customers' videos have no captions.
    <video
      className="video"
      src={src}
      controls
      playsInline
      preload="metadata"
      aria-label={file.filename || 'Video'}
      onError={() => setFailed(true)}
    />
  )
}

export function VoiceNote({ file }: { file: File }) {
  const src = ownUrlOf(file)
  if (!src) return <Missing icon="audio" text="Voice note" url={file.url} />
  // biome-ignore lint/a11y/useMediaCaption: customers' voice notes have no captions.
  return <audio className="voice-note" src={src} controls preload="metadata" aria-label="Voice note" />
}

export function Document({ file }: { file: File }) {
  const href = safeUrl(file.url)
  const content = (
    <>
      <Icon name="document" />
      <span>
        <strong>
          <bdi>{file.filename || 'Document'}</bdi>
        </strong>
        <small>{file.mime_type || 'Document'}</small>
      </span>
    </>
  )
  if (!href) return <span className="line file">{content}</span>
  return (
    <a className="line file" href={href} target="_blank" rel="noopener noreferrer">
      {content}
    </a>
  )
}

/** A file that is missing, or that the page's policy does not allow to play. */
function Missing({ icon, text, url }: { icon: IconName; text: string; url?: string | undefined }) {
  const href = safeUrl(url)
  return (
    <span className="missing">
      <Icon name={icon} />
      {text}
      {href && (
        <a href={href} target="_blank" rel="noopener noreferrer">
          Open in a new tab
        </a>
      )}
    </span>
  )
}

export function LocationCard({ location: { latitude, longitude, name, address } }: { location: Location }) {
  const [north, east] = [Number(latitude), Number(longitude)]
  const isKnown = Number.isFinite(north) && Number.isFinite(east)
  return (
    <span className="line file">
      <Icon name="location" />
      <span>
        <strong dir="auto">{name || 'Location'}</strong>
        {address && <small dir="auto">{address}</small>}
        {isKnown && (
          <a
            href={`https://www.openstreetmap.org/?mlat=${north}&mlon=${east}#map=16/${north}/${east}`}
            target="_blank"
            rel="noopener noreferrer"
          >
            {north.toFixed(4)}, {east.toFixed(4)}
            <span className="offscreen"> (opens a map)</span>
          </a>
        )}
      </span>
    </span>
  )
}

export type Contact = NonNullable<Bubble['contacts']>[number]

type ContactCardsProps = { contacts: readonly Contact[]; onOpen: (contact: Contact) => void }

export function ContactCards({ contacts, onOpen }: ContactCardsProps) {
  return contacts.map((contact) => (
    <span className="line file" key={contact.name + contact.phone}>
      <Icon name="person" />
      <span>
        <strong dir="auto">{contact.name || 'No name'}</strong>
        <small>{contact.phone}</small>
      </span>
      {contact.phone && (
        <button
          type="button"
          className="pill"
          aria-label={`Open the phone of ${contact.name || contact.phone}`}
          onClick={() => onOpen(contact)}
        >
          Open
        </button>
      )}
    </span>
  ))
}
