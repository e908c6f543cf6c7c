/** Records a voice note. `start` returns false if the browser has no microphone or may not use it. */
import { useEffect, useRef, useState } from 'react'

/** Formats in order of preference: the channels use Ogg. */
const formats = ['audio/ogg;codecs=opus', 'audio/mp4', 'audio/webm;codecs=opus']
const maxSeconds = 120

type Recording = { stop: (isWanted: boolean) => void }

export function useRecorder(onRecorded: (file: File) => void) {
  /** Undefined while no recording runs. */
  const [seconds, setSeconds] = useState<number>()
  const current = useRef<Recording>(undefined)

  useEffect(() => () => current.current?.stop(false), [])

  async function start(): Promise<boolean> {
    const mimeType = formats.find((format) => globalThis.MediaRecorder?.isTypeSupported(format))
    const stream = mimeType && (await navigator.mediaDevices?.getUserMedia({ audio: true }).catch(() => undefined))
    if (!mimeType || !stream) return false
    const recorder = new MediaRecorder(stream, { mimeType })
    const parts: Blob[] = []
    const startedAt = performance.now()
    const timer = setInterval(() => {
      const elapsed = Math.floor((performance.now() - startedAt) / 1000)
      setSeconds(elapsed)
      if (elapsed >= maxSeconds) stop(true)
    }, 250)
    const stop = (isWanted: boolean) => {
      if (!current.current) return
      current.current = undefined
      clearInterval(timer)
      setSeconds(undefined)
      recorder.addEventListener('stop', () => {
        for (const track of stream.getTracks()) track.stop()
        const [type = mimeType] = mimeType.split(';')
        if (isWanted) onRecorded(new File(parts, `voice-note.${type.split('/')[1]}`, { type }))
      })
      recorder.stop()
    }
    recorder.addEventListener('dataavailable', (event) => parts.push(event.data))
    recorder.start()
    current.current = { stop }
    setSeconds(0)
    return true
  }

  return { seconds, start, finish: () => current.current?.stop(true), cancel: () => current.current?.stop(false) }
}
