// @ts-check
/**
 * What the customer sent from here, until the conversation has it.
 *
 * A message is shown at once and sent behind it. The stream may bring it back
 * before or after the answer to our call; either way it is shown once. What
 * failed stays, with the reason, until it is tried again.
 */
import { postInbound, upload } from './api.js'

/** @typedef {import('./api.js').Bubble} Bubble */
/** @typedef {import('./composer.js').Outgoing} Outgoing */
/** @typedef {{ bubble: Bubble, outgoing: Outgoing, sentAs?: string }} Waiting `sentAs` is the id the channel gave it. */

/** Clocks of two machines may differ; a message older than this is another one. */
const twinMs = 60_000

/** @param {{ phone: import('./api.js').Phone, workspaceId: () => string, changed: (toEnd: boolean) => void }} about */
export function startOutbox({ phone, workspaceId, changed }) {
  /** @type {Waiting[]} */
  let waiting = []
  /** The ids under which what was sent here came back. @type {Set<string>} */
  const own = new Set()
  let lastLocal = 0

  /** @param {Record<string, unknown>} message */
  function post(message) {
    return postInbound({
      workspace_id: workspaceId(),
      channel: phone.channel,
      from: phone.id,
      ...(phone.username ? { username: phone.username } : {}),
      ...(phone.name ? { name: phone.name } : {}),
      ...message,
    })
  }

  /** @param {Waiting} one */
  async function deliver(one) {
    const { file, text, ...rest } = one.outgoing
    const stored = file && (await upload(file))
    const media =
      file && stored?.ok
        ? { ...stored.data, mime_type: typeOf(file), filename: file.name, ...(text ? { caption: text } : {}) }
        : rest.media
    const answer =
      stored && !stored.ok
        ? stored
        : await post({ ...rest, ...(media ? { media } : {}), ...(text && !file ? { text } : {}) })
    if (answer.ok) {
      one.bubble.status = 'delivered'
      one.sentAs = answer.data.message_id
    } else Object.assign(one.bubble, { status: 'failed', error: answer.message })
    changed(false)
  }

  /** @param {Waiting} one */
  function twinOf({ bubble, sentAs }) {
    if (sentAs) return phone.messages.find(({ id }) => id === sentAs)
    const last = phone.messages.at(-1)
    return last && !own.has(last.id) && isTwin(last, bubble) ? last : undefined
  }

  return {
    post,
    /** @param {Outgoing} outgoing */
    send(outgoing) {
      const { type, text, file, media, location, reply_to } = outgoing
      const one = {
        outgoing,
        bubble: /** @type {Bubble} */ ({
          id: `local-${++lastLocal}`,
          from: 'customer',
          at: new Date().toISOString(),
          type,
          text: text ?? null,
          status: 'sending',
          error: null,
          media: file
            ? { url: URL.createObjectURL(file), mime_type: file.type, filename: file.name }
            : media
              ? { url: null, ...media }
              : null,
          template: null,
          reply_to: reply_to ?? null,
          ...(location ? { location } : {}),
        }),
      }
      waiting.push(one)
      changed(true)
      void deliver(one)
    },
    /** @param {string} id */
    retry(id) {
      const one = waiting.find(({ bubble }) => bubble.id === id)
      if (!one) return
      one.bubble.status = 'sending'
      changed(false)
      void deliver(one)
    },
    /** Let go of what the conversation has by now; the rest is still to be shown. */
    settle() {
      waiting = waiting.filter((one) => {
        const twin = twinOf(one)
        if (!twin) return true
        own.add(twin.id)
        if (one.bubble.media?.url?.startsWith('blob:')) URL.revokeObjectURL(one.bubble.media.url)
        return false
      })
      return waiting.map(({ bubble }) => bubble)
    },
    /** Whether it was sent from here: then it does not arrive a second time. @param {string} id */
    isOwn: (id) => own.has(id),
  }
}

/** @param {File} file */
const typeOf = (file) => file.type || 'application/octet-stream'

/** @param {Bubble} arrived @param {Bubble} sent */
function isTwin(arrived, sent) {
  return (
    sent.status === 'sending' &&
    arrived.from === 'customer' &&
    arrived.type === sent.type &&
    (arrived.text ?? '') === (sent.text ?? '') &&
    Math.abs(Date.parse(arrived.at) - Date.parse(sent.at)) < twinMs
  )
}
