/** Small valid files for messages of simulated customers that name no file of their own. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export type MediaType = 'image' | 'video' | 'audio' | 'document' | 'sticker'
export const mediaTypes: readonly MediaType[] = ['image', 'video', 'audio', 'document', 'sticker']

export type SampleFile = { bytes: Buffer; mime_type: string; filename: string }

const sample = (filename: string, mime_type: string): SampleFile => ({
  filename,
  mime_type,
  bytes: readFileSync(join(import.meta.dirname, 'samples', filename)),
})

export const sampleFiles: Record<MediaType, SampleFile> = {
  image: sample('picture.png', 'image/png'),
  video: sample('video.mp4', 'video/mp4'),
  audio: sample('voice.ogg', 'audio/ogg; codecs=opus'),
  document: sample('document.pdf', 'application/pdf'),
  sticker: sample('sticker.webp', 'image/webp'),
}
