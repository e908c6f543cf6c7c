/** Records a voice note: duration, attach or cancel. The recording starts when it is rendered and ends after five minutes. */
import { useEffect, useRef, useState } from 'react'
import { Button } from '../../../../ui/controls.tsx'
import { words } from '../../words/words.ts'
import type { Conversation } from '../model/data.ts'
import { type Recording, startRecording, voiceObstacle } from './voice-recording.ts'

const { voice: labels } = words.inbox

const maxSeconds = 300

type Props = {
  channel: Conversation['channel']
  onRecorded: (file: File) => void
  onClose: () => void
}

export default function VoiceNote({ channel, onRecorded, onClose }: Props) {
  const [error, setError] = useState(() => {
    const obstacle = voiceObstacle(channel)
    return obstacle && labels[obstacle]
  })
  const [seconds, setSeconds] = useState<number>()
  const [isBusy, setBusy] = useState(false)
  const recording = useRef<Recording>(undefined)
  const canRecord = !error
  useEffect(() => {
    if (!canRecord) return
    let isCancelled = false
    let timer: ReturnType<typeof setInterval> | undefined
    startRecording(channel).then(
      (started) => {
        if (isCancelled) return started.cancel()
        recording.current = started
        setSeconds(0)
        timer = setInterval(() => setSeconds((value = 0) => value + 1), 1_000)
      },
      (cause: unknown) => setError(cause instanceof DOMException ? labels.denied : labels.unsupported),
    )
    return () => {
      isCancelled = true
      clearInterval(timer)
      recording.current?.cancel()
      recording.current = undefined
    }
  }, [canRecord, channel])
  const attach = async () => {
    const { current: started } = recording
    if (!started || isBusy) return
    setBusy(true)
    recording.current = undefined
    try {
      onRecorded(await started.stop())
    } catch {
      // The browser recorded something else than it announced.
      setError(labels.unsupported)
    }
  }
  const latest = useRef(attach)
  latest.current = attach
  useEffect(() => {
    if (seconds === maxSeconds) void latest.current()
  }, [seconds])
  if (error) {
    return (
      <div className="row inbox-voice" role="alert">
        <span>{error}</span>
        <Button label={words.common.close} size="small" onClick={onClose} />
      </div>
    )
  }
  return (
    <section className="row inbox-voice" aria-label={labels.label}>
      <span className="inbox-voice-time" role="timer" data-on={seconds === undefined ? undefined : ''}>
        {seconds === undefined ? labels.waiting : formatDuration(seconds)}
      </span>
      <Button label={words.common.cancel} size="small" onClick={onClose} />
      <Button
        label={labels.attach}
        size="small"
        variant="primary"
        icon="stop"
        autoFocus
        disabled={seconds === undefined}
        busy={isBusy}
        onClick={() => void attach()}
      />
    </section>
  )
}

const formatDuration = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
