/**
 * The calls to the service. What goes wrong is a value: the line is down, or
 * the service said no and perhaps when to come again.
 */
export type Settings = {
  title: string | null
  greeting: string | null
  color: string
  position: 'right' | 'left'
  ask_details: 'never' | 'optional' | 'required'
}

export type Message = {
  id: string
  direction: 'inbound' | 'outbound'
  content_text: string | null
  media_url: string | null
  status: string
  deleted_at: string | null
  created_at: string
  /** What this browser called it, when it was this visitor's. */
  client_id?: string
}

type Answer<Data> =
  | { ok: true; data: Data; next: string | null }
  /** `status` is 0 when there was no answer; a browser shows one of a refused origin as none, too. */
  | { ok: false; status: number; retryMs: number | undefined }

type NewMessage = { text: string; client_id: string; name?: string; email?: string }

export type Service = {
  settings(): Promise<Answer<Settings>>
  visitor(): Promise<Answer<{ visitor_token: string }>>
  send(token: string, message: NewMessage): Promise<Answer<Message>>
  /** Newest first. */
  list(token: string, cursor?: string): Promise<Answer<Message[]>>
  stream(token: string): EventSource
}

/** A call that takes longer is taken for lost. */
const patienceMs = 20_000

/** `base` ends with a slash: where the script itself came from. */
export function createService(base: string, siteId: string): Service {
  const site = `${base}web-chat/${encodeURIComponent(siteId)}`

  async function call<Data>(path: string, token?: string, body?: unknown, method = 'GET'): Promise<Answer<Data>> {
    const abort = new AbortController()
    const timer = setTimeout(() => abort.abort(), patienceMs)
    try {
      const response = await fetch(site + path, {
        method,
        headers: {
          ...(token ? { 'x-visitor-token': token } : {}),
          ...(body ? { 'content-type': 'application/json' } : {}),
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
        credentials: 'omit',
        signal: abort.signal,
      })
      const retryMs = Number(response.headers.get('retry-after')) * 1000 || undefined
      if (!response.ok) return { ok: false, status: response.status, retryMs }
      const { data, meta } = await response.json()
      return { ok: true, data, next: meta?.next_cursor ?? null }
    } catch {
      return { ok: false, status: 0, retryMs: undefined }
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    settings: () => call('/settings'),
    visitor: () => call('/visitors', undefined, undefined, 'POST'),
    send: (token, message) => call('/messages', token, message, 'POST'),
    list: (token, cursor) => call(`/messages?limit=50${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`, token),
    stream: (token) => new EventSource(`${site}/stream?token=${encodeURIComponent(token)}`),
  }
}
