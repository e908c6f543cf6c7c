// @ts-check
/**
 * The simulator's control calls, all on this page's own origin, and its stream.
 */

/** @typedef {'msgapp' | 'social'} Channel */
/** @typedef {'accepted' | 'sent' | 'delivered' | 'read' | 'failed' | 'sending'} Status `sending` is this page's own. */
/** @typedef {{ latitude: number | string, longitude: number | string, name?: string | null, address?: string | null }} Place */
/** @typedef {{ type: 'text' | 'image' | 'video' | 'document' | 'location', text?: string, url?: string, filename?: string, location?: Place }} Header */
/** @typedef {{ index: number, type: string, text: string, url?: string, code?: string, payload?: string }} Button */
/** @typedef {{ header: Header | null, body: string | null, buttons: Button[] }} Card */
/** @typedef {{ name: string, header: Header | null, body: string | null, footer: string | null, buttons: Button[], cards: Card[] | null }} Rendered */
/**
 * @typedef {{
 *   id: string, from: 'business' | 'customer', at: string, type: string, text: string | null, status: Status, error?: unknown,
 *   media: { url: string | null, mime_type?: string | null, filename?: string | null } | null, template: Rendered | null,
 *   reply_to: string | null, location?: Place, contacts?: { name: string, phone: string }[],
 *   reaction?: { message_id: string, emoji: string }
 * }} Bubble
 */
/** @typedef {{ channel: Channel, id: string, name: string | null, username: string | null, messages: Bubble[] }} Phone */
/** @typedef {{ workspace_id: string, business_name: string, display_phone_number?: string }} Workspace */
/** @typedef {{ workspace: Workspace, workspaces: Workspace[], phones: Phone[] }} Table */
/** @typedef {{ to?: string | null, mode: string, code?: number | null, count?: number | null, delay_ms?: number | null }} Fault */
/** @typedef {{ channel: Channel, phone: string, name: string | null, username?: string | null, bubble: Bubble }} BubbleEvent */
/** @typedef {{ channel: Channel, phone: string, id: string, status: Status, error?: unknown }} StatusEvent */
/** @template T @typedef {{ ok: true, data: T } | { ok: false, message: string }} Answer */

const control = '/simulator/control'

/** @param {string | undefined} workspaceId */
const inWorkspace = (workspaceId) => (workspaceId ? `?${new URLSearchParams({ workspace_id: workspaceId })}` : '')

/** @param {string | undefined} workspaceId @returns {Promise<Answer<Table>>} */
export const readTable = (workspaceId) => call(`/phones${inWorkspace(workspaceId)}`)

/** A customer writes. @param {Record<string, unknown>} message @returns {Promise<Answer<{ message_id: string }>>} */
export const postInbound = (message) => callJson('/inbound', message)

/** @param {Blob} file @returns {Promise<Answer<{ id: string, url: string }>>} */
export const upload = (file) =>
  call('/uploads', {
    method: 'POST',
    headers: { 'content-type': file.type || 'application/octet-stream', 'x-simulator': '1' },
    body: file,
  })

/** @returns {Promise<Answer<Fault[]>>} */
export const listFaults = () => call('/faults')

/** @param {Fault} fault @returns {Promise<Answer<unknown>>} */
export const addFault = (fault) => callJson('/faults', fault)

/** @returns {Promise<Answer<unknown>>} */
export const clearFaults = () => call('/faults', { method: 'DELETE' })

/** @param {string} path @param {unknown} body */
function callJson(path, body) {
  return call(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
}

/**
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<Answer<any>>}
 */
async function call(path, options) {
  try {
    const response = await fetch(control + path, options)
    const body = response.status === 204 ? {} : await response.json().catch(() => undefined)
    if (response.ok && body) return { ok: true, data: body.data }
    return { ok: false, message: body?.error?.message ?? `the simulator answered ${response.status}` }
  } catch {
    return { ok: false, message: 'the simulator does not answer' }
  }
}

/**
 * What happens from now on. `opened` is called each time the connection stands, so that what was missed can be read;
 * `lost` each time it breaks. The browser tries again by itself unless it was answered with an error; then we do.
 * @param {{
 *   workspaceId: string | undefined, opened: () => void, lost: () => void,
 *   bubble: (event: BubbleEvent) => void, status: (event: StatusEvent) => void
 * }} listener
 */
export function startStream({ workspaceId, opened, lost, bubble, status }) {
  /** @type {EventSource | undefined} */
  let source
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  let waitMs = 1000
  const connect = () => {
    source = new EventSource(`${control}/stream${inWorkspace(workspaceId)}`)
    source.addEventListener('open', () => {
      waitMs = 1000
      opened()
    })
    source.addEventListener('bubble', (event) => bubble(JSON.parse(event.data)))
    source.addEventListener('status', (event) => status(JSON.parse(event.data)))
    source.addEventListener('error', () => {
      lost()
      if (source?.readyState !== EventSource.CLOSED) return
      timer = setTimeout(connect, waitMs)
      waitMs = Math.min(waitMs * 2, 15_000)
    })
  }
  const close = () => {
    clearTimeout(timer)
    source?.close()
    source = undefined
  }
  // A page nobody sees has no line: a browser has six to a host, and tabs share them.
  const watch = () => {
    if (document.hidden) close()
    else if (!source) connect()
  }
  watch()
  document.addEventListener('visibilitychange', watch)
  return {
    stop() {
      document.removeEventListener('visibilitychange', watch)
      close()
    },
  }
}
