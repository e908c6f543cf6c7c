/**
 * Files of the provider: uploads of the business, and downloads by signed link.
 *
 * A file shares its origin with the dashboard, so a browser gets content that
 * it could run only as a download.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AccountState } from '../state/accounts.ts'
import type { Media, MediaStore } from '../state/media.ts'
import { badToken, type Failure, failure } from '../wire/errors.ts'
import { maxUploadBytes, queryOf, sendNotFound, sendObject, tokenOf } from '../wire/http.ts'
import type { Params } from '../wire/params.ts'
import type { World } from '../world.ts'
import { sendFailure } from './answers.ts'

const uploadTypes =
  /^(image\/(jpeg|png|webp)|video\/(mp4|3gpp)|audio\/(aac|amr|mpeg|mp4|ogg)|text\/plain|application\/(pdf|msword|vnd\.[\w.-]+))\s*(;[\x20-\x7e]*)?$/i
const uploadLimits: readonly [RegExp, number][] = [
  [/^image\/webp/, 500 * 1024],
  [/^image\//, 5 * 1024 * 1024],
  [/^(video|audio)\//, 16 * 1024 * 1024],
]

export function upload(world: World, state: AccountState, { values, files }: Params, response: ServerResponse) {
  const refuse = (error: Failure) => sendFailure(response, error)
  if (values.messaging_product !== 'whatsapp') {
    return refuse(
      failure(100, 'messaging_product: whatsapp', { message: '(#100) The parameter messaging_product is required.' }),
    )
  }
  const file = files.get('file')
  if (!file) return refuse(failure(100, 'file: required', { message: '(#100) The parameter file is required.' }))
  const type = typeof values.type === 'string' && values.type !== '' ? values.type : file.mime_type
  if (!uploadTypes.test(type)) {
    return refuse(
      failure(100, `Param file must be a file with one of the supported types. Received file of type '${type}'.`),
    )
  }
  const limit = uploadLimits.find(([pattern]) => pattern.test(type))?.[1] ?? maxUploadBytes
  if (file.bytes.length > limit) return refuse(failure(131053, `the file is too large: at most ${limit} bytes`))
  const media = world.media.save(
    { mime_type: type, filename: file.filename ?? null, workspace_id: state.workspace_id, from: 'business' },
    file.bytes,
  )
  sendObject(response, { id: media.id })
}

/** Types that a browser shows without running anything. HTML and SVG are not among them. */
const displayableTypes =
  /^(image\/(png|jpeg|gif|webp)|audio\/(mpeg|mp4|aac|amr|ogg|webm|wav)|video\/(mp4|3gpp|webm|ogg)|application\/pdf)(?=\s*(;|$))/i

function fileHeaders({ mime_type }: Media, bytes: Buffer): Record<string, string | number> {
  const shown = displayableTypes.exec(mime_type)?.[0].toLowerCase()
  return {
    'content-type': shown ?? 'application/octet-stream',
    ...(shown ? {} : { 'content-disposition': 'attachment' }),
    'content-length': bytes.length,
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
  }
}

/** `GET /simulator/media/{id}`: a file for the phone page, or by a signed link of the social channel. */
export function sendMedia(store: MediaStore, id: string, query: URLSearchParams, response: ServerResponse) {
  const isAllowed = !query.has('hash') || store.isValidLink(id, query, Date.now())
  const media = isAllowed ? store.get(id) : undefined
  const bytes = media && store.bytes(media)
  if (!media || !bytes) return sendNotFound(response)
  response.writeHead(200, { ...fileHeaders(media, bytes), 'cache-control': 'private, max-age=3600' })
  response.end(bytes)
}

/** `GET /simulator/lookaside`: the link from `GET /{media}`, with the token. Keeps the file's own type. */
export function handleLookaside(world: World, request: IncomingMessage, response: ServerResponse) {
  const query = queryOf(request.url ?? '')
  const id = query.get('mid') ?? ''
  const token = tokenOf(request)
  if (token === undefined || world.accounts.byToken(token).length === 0) return sendFailure(response, badToken())
  const media = world.media.isValidLink(id, query, Date.now()) ? world.media.get(id) : undefined
  const bytes = media && world.media.bytes(media)
  if (!media || !bytes) {
    response.writeHead(404, { 'content-type': 'text/plain', 'content-length': 0 }).end()
    return
  }
  const headers = { 'content-type': media.mime_type, 'content-disposition': 'attachment' }
  response.writeHead(200, { ...fileHeaders(media, bytes), ...headers }).end(bytes)
}
