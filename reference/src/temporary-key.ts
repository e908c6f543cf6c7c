/**
 * The key with which a signed-in owner or admin tries calls: the page makes it for the first call, with the scope of that call, and adds
 * the scopes of later ones. It stays in the memory of the page, ends within 15 minutes, and is revoked when the page closes.
 */
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { readStored } from './storage.ts'

type CreatedKey = { id: string; key: string; prefix: string; scopes: string[]; created_at: string; expires_at: string }
/** `endsAt` is on the page's own clock: that of the computer may be wrong. */
type Key = CreatedKey & { endsAt: number }

export type TemporaryKey = {
  /** The reader may have one. */
  isOffered: boolean
  current: Key | undefined
  /** The text of a key that has the scope. Throws the sentence for the reader. */
  obtain: (scope: string | undefined) => Promise<string>
  /** The service refused the key: the next call gets another. */
  forget: (key: string) => void
  revoke: () => Promise<void>
}

export const noTemporaryKey: TemporaryKey = {
  isOffered: false,
  current: undefined,
  obtain: async () => '',
  forget: () => {},
  revoke: async () => {},
}

/** The dashboard stores it while a member is signed in, so that other readers cause no request. */
const signedInKey = 'parley-signed-in'
/** A key this close to its end is replaced, so that it does not end during a call. */
const marginMs = 30_000

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
      void send('POST', `/keys/${latest.current.id}/revoke`, undefined, true).catch(() => {})
      // The page may come back from the cache of the browser.
      set(undefined)
    }
    addEventListener('pagehide', onHide)
    return () => removeEventListener('pagehide', onHide)
  }, [set])
  const resolveKey = useCallback(
    async (wanted: readonly string[]): Promise<string> => {
      const known = latest.current && latest.current.endsAt > performance.now() ? latest.current : undefined
      const scopes = [...new Set([...(known?.scopes ?? []), ...wanted])]
      if (known && scopes.length === known.scopes.length) return known.key
      const extended = known && (await extend(known, scopes))
      const key = extended ?? (await create(scopes))
      set(key)
      return key.key
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
      forget(key) {
        if (latest.current?.key === key) set(undefined)
      },
      async revoke() {
        if (!latest.current) return
        await send('POST', `/keys/${latest.current.id}/revoke`)
        set(undefined)
      },
    }),
    [isOffered, current, resolveKey, set],
  )
}

async function create(scopes: readonly string[]): Promise<Key> {
  const startedAt = performance.now()
  const made = await send<CreatedKey>('POST', '/keys/temporary', { scopes })
  const lifeMs = Date.parse(made.expires_at) - Date.parse(made.created_at)
  return { ...made, endsAt: startedAt + lifeMs - marginMs }
}

/** Undefined if the key cannot be changed, for example because it was revoked on another page. */
async function extend(key: Key, scopes: readonly string[]): Promise<Key | undefined> {
  try {
    const changed = await send<{ scopes: string[] }>('PATCH', `/keys/${key.id}`, { scopes })
    return { ...key, scopes: changed.scopes }
  } catch {
    return undefined
  }
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

async function send<Data>(method: 'POST' | 'PATCH', path: string, body?: object, keepalive = false): Promise<Data> {
  const response = await fetch(`/app/api${path}`, {
    method,
    credentials: 'same-origin',
    keepalive,
    ...(body ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {}),
  }).catch(() => undefined)
  const answer = await response?.json().catch(() => undefined)
  if (response?.ok && answer) return answer.data
  const reason = answer?.error?.message ?? (response ? `HTTP ${response.status}` : 'no response from the service')
  throw new Error(`The temporary key failed: ${reason}.`)
}
