/**
 * A dialog or popup whose script loads later. Unlike `lazy`, it shows at once when the script is there: React shows the content of a
 * `Suspense` at the earliest 300 ms after its fallback. The keys that are typed while it loads go to it (`kept-keys.ts`).
 */
import { type ComponentType, useLayoutEffect, useRef, useState } from 'react'
import { type KeptKeys, keepKeys } from './kept-keys.ts'

export function deferred<Props extends object>(load: () => Promise<{ default: ComponentType<Props> }>) {
  let Loaded: ComponentType<Props> | undefined
  const loadOnce = async () => {
    Loaded ??= (await load()).default
  }
  function Deferred(props: Props) {
    const [isLoaded, setLoaded] = useState(Loaded !== undefined)
    const [error, setError] = useState<unknown>()
    const keys = useRef<KeptKeys>(undefined)
    useLayoutEffect(() => {
      const kept = keepKeys()
      keys.current = kept
      return kept.stop
    }, [])
    // After the effects of the dialog, which move the focus into it.
    useLayoutEffect(() => {
      if (isLoaded) keys.current?.open()
      else loadOnce().then(() => setLoaded(true), setError)
    }, [isLoaded])
    if (error) throw error
    return Loaded && isLoaded ? <Loaded {...props} /> : null
  }
  /** Loads the script before it is needed. If it fails, opening the dialog loads it again and reports the error. */
  Deferred.preload = (): void => void loadOnce().catch(() => {})
  return Deferred
}
