/**
 * The key with which a signed-in owner or admin tries calls: the page makes it for the first call, with the scope of that call, and adds
 * the scopes of later ones. It stays in the memory of the page, ends within an hour, and is revoked when the page closes.
 */
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { readStored } from './storage.ts'

type Key = { id: string; key: string; prefix: string; scopes: string[]; expires_at: string }

export type TemporaryKey = {
  /** The reader may have one. */
  isOffered: boolean
  current: Key | undefined
  /** The text of a key that has the scope. Throws the sentence for the reader. */
  obtain: (scope: string | undefined) => Promise<string>
  revoke: () => Promise<void>
}

export const noTemporaryKey: TemporaryKey = {
  isOffered: false,
  current: undefined,
  obtain: async () => '',
  revoke: async () => {},
}

/** The dashboard stores it while a member is signed in, so that other readers cause no request. */
const signedInKey = 'parley-signed-in'

export function useTemporaryKey(): TemporaryKey {
  const [isOffered, setOffered] = useState(false)
  const [current, setCurrent] = useState<Key>()
  const latest = useRef<Key>(undefined)
  /** Calls that start together get the same key. */
  const previous = useRef<Promise<unknown>>(Promise.resolve())
  const set = useCallback((key: Key | undefined) => {
    latest.current = key
    setCurrent(key)
  }, [])
  useEffect(() => {
    if (readStored('localStorage', signedInKey)) void isManager().then(setOffered)
    const onHide = () => {
      if (!latest.current) return
      void post(`/keys/${latest.current.id}/revoke`, undefined, { keepalive: true }).catch(() => {})
      // The page may come back from the cache of the browser.
      set(undefined)
    }
    addEventListener('pagehide', onHide)
    return () => removeEventListener('pagehide', onHide)
  }, [set])
  const resolveKey = useCallback(
    async (wanted: readonly string[]): Promise<string> => {
      const known = latest.current && Date.parse(latest.current.expires_at) > Date.now() ? latest.current : undefined
      if (!known) {
        const made = await post<Key>('/keys/temporary', { scopes: wanted })
        set(made)
        return made.key
      }
      if (wanted.some((scope) => !known.scopes.includes(scope))) {
        const scopes = [...known.scopes, ...wanted]
        const changed = await post<Key>(`/keys/${known.id}`, { scopes }, { method: 'PATCH' })
        set({ ...known, scopes: changed.scopes })
      }
      return known.key
    },
    [set],
  )
  return useMemo(
    () => ({
      isOffered,
      current,
      obtain(scope) {
        const key = previous.current.then(() => resolveKey(scope ? [scope] : []))
        previous.current = key.catch(() => {})
        return key
      },
      async revoke() {
        if (!latest.current) return
        await post(`/keys/${latest.current.id}/revoke`)
        set(undefined)
      },
    }),
    [isOffered, current, resolveKey, set],
  )
}

async function isManager(): Promise<boolean> {
  try {
    const response = await fetch('/app/api/session', { credentials: 'same-origin' })
    const { data } = await response.json()
    return response.ok && ['owner', 'admin'].includes(data.role) && !data.second_factor_due
  } catch {
    return false
  }
}

async function post<Data>(path: string, body?: object, options: RequestInit = {}): Promise<Data> {
  const response = await fetch(`/app/api${path}`, {
    method: 'POST',
    credentials: 'same-origin',
    ...(body ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {}),
    ...options,
  })
  const answer = await response.json().catch(() => undefined)
  if (response.ok && answer) return answer.data
  throw new Error(`The temporary key failed: ${answer?.error?.message ?? `HTTP ${response.status}`}.`)
}
