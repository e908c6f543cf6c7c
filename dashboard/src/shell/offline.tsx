/** The page without a connection at its start. It tries again when the browser is online again, and every few seconds. */
import { useEffect, useRef } from 'react'
import { Button } from '../../../ui/controls.tsx'
import { EmptyState } from '../../../ui/display.tsx'
import { useTitle } from '../lib/title.ts'
import { words } from '../words/words.ts'

const retryMs = 5_000

export function Offline({ onRetry }: { onRetry: () => void }) {
  useTitle(words.shell.offline)
  const latest = useRef(onRetry)
  latest.current = onRetry
  useEffect(() => {
    const retry = () => latest.current()
    const timer = setInterval(retry, retryMs)
    addEventListener('online', retry)
    return () => {
      clearInterval(timer)
      removeEventListener('online', retry)
    }
  }, [])
  return (
    <EmptyState
      isPage
      icon="alert"
      title={words.shell.offline}
      text={words.shell.offlineText}
      action={<Button label={words.common.again} icon="refresh" onClick={onRetry} />}
    />
  )
}
