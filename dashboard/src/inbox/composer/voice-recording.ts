/**
 * Records a voice note in a format that the channel takes.
 *
 * msgapp takes Ogg with Opus and MP4 with AAC. Firefox records the first, Safari the second; Chromium records Opus in WebM, which
 * `webm-to-ogg.ts` repackages. The social channel takes MP4 with AAC and WAV, and so does every visitor's browser: where the
 * browser cannot record AAC, the recording is converted to WAV, 32 KB per second.
 */
import type { Conversation } from '../model/data.ts'

export type Recording = { stop: () => Promise<File>; cancel: () => void }

type Format = { record: string; type: string; name: string; convert?: (bytes: ArrayBuffer) => Promise<BlobPart> }

const ogg = 'audio/ogg;codecs=opus'
const webm = 'audio/webm;codecs=opus'
const mp4 = 'audio/mp4;codecs=mp4a.40.2'

const toOgg = async (bytes: ArrayBuffer) => {
  const { webmToOgg } = await import('./webm-to-ogg.ts')
  return webmToOgg(new Uint8Array(bytes))
}

const oggFormats: readonly Format[] = [
  { record: ogg, type: 'audio/ogg', name: 'voice.ogg' },
  { record: webm, type: 'audio/ogg', name: 'voice.ogg', convert: toOgg },
  { record: mp4, type: 'audio/mp4', name: 'voice.m4a' },
]
const wavFormats: readonly Format[] = [
  { record: mp4, type: 'audio/mp4', name: 'voice.m4a' },
  { record: ogg, type: 'audio/wav', name: 'voice.wav', convert: toWav },
  { record: webm, type: 'audio/wav', name: 'voice.wav', convert: toWav },
]

/** The format for a channel; undefined when this browser cannot record one. */
function formatFor(channel: Conversation['channel']): Format | undefined {
  if (typeof MediaRecorder === 'undefined') return undefined
  return (channel === 'msgapp' ? oggFormats : wavFormats).find(({ record }) => MediaRecorder.isTypeSupported(record))
}

/** Why a voice note cannot be recorded here, or undefined. Browsers give a page the microphone only over HTTPS. */
export function voiceObstacle(channel: Conversation['channel']): 'insecure' | 'unsupported' | undefined {
  if (!isSecureContext) return 'insecure'
  return formatFor(channel) && navigator.mediaDevices ? undefined : 'unsupported'
}

/** Starts to record. Rejects when the member does not allow the microphone or there is none. */
export async function startRecording(channel: Conversation['channel']): Promise<Recording> {
  const format = formatFor(channel)
  if (!format) throw new Error('no format of this channel can be recorded')
  const stream = await navigator.mediaDevices.getUserMedia({
    audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true },
  })
  const recorder = new MediaRecorder(stream, { mimeType: format.record, audioBitsPerSecond: 32_000 })
  const parts: Blob[] = []
  recorder.addEventListener('dataavailable', ({ data }) => parts.push(data))
  const release = () => {
    for (const track of stream.getTracks()) track.stop()
  }
  recorder.start()
  return {
    async stop() {
      await new Promise((resolve) => {
        recorder.addEventListener('stop', resolve, { once: true })
        recorder.stop()
      })
      release()
      const recorded = new Blob(parts)
      const content = format.convert ? await format.convert(await recorded.arrayBuffer()) : recorded
      return new File([content], format.name, { type: format.type })
    },
    cancel() {
      if (recorder.state !== 'inactive') recorder.stop()
      release()
    },
  }
}

const wavRate = 16_000

/** Decodes a recording and writes it as WAV: mono, 16 bit. */
async function toWav(bytes: ArrayBuffer): Promise<ArrayBuffer> {
  const decoded = await new OfflineAudioContext(1, 1, wavRate).decodeAudioData(bytes)
  const context = new OfflineAudioContext(1, Math.ceil(decoded.duration * wavRate), wavRate)
  const source = new AudioBufferSourceNode(context, { buffer: decoded })
  source.connect(context.destination)
  source.start()
  const samples = (await context.startRendering()).getChannelData(0)
  const view = new DataView(new ArrayBuffer(44 + samples.length * 2))
  const text = (at: number, value: string) => {
    for (let i = 0; i < value.length; i++) view.setUint8(at + i, value.charCodeAt(i))
  }
  text(0, 'RIFF')
  view.setUint32(4, 36 + samples.length * 2, true)
  text(8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, wavRate, true)
  view.setUint32(28, wavRate * 2, true)
  view.setUint16(32, 2, true)
  view.setUint16(34, 16, true)
  text(36, 'data')
  view.setUint32(40, samples.length * 2, true)
  for (const [i, sample] of samples.entries()) {
    view.setInt16(44 + i * 2, Math.max(-1, Math.min(1, sample)) * 32_767, true)
  }
  return view.buffer
}
