/** The sound of a notification. Browsers play it only in tabs that the member has used, so other tabs may play it instead. */
import { useEffect } from 'react'

let audio: HTMLAudioElement | undefined
let channel: BroadcastChannel | undefined

/** Plays the sound in this tab, or asks the other tabs to play it. */
export function playSound(): void {
  play().catch(() => channel?.postMessage('play'))
}

function play(): Promise<void> {
  audio ??= new Audio('/notification.wav')
  audio.currentTime = 0
  return audio.play()
}

/** Plays the sound for tabs that must not. */
export function useSoundForOtherTabs(): void {
  useEffect(() => {
    const opened = new BroadcastChannel('parley:sound')
    channel = opened
    opened.onmessage = () => void play().catch(() => {})
    return () => opened.close()
  }, [])
}
