/** Files of the business: uploaded to the number, and got in two hops. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { fileHeaders } from '../page.ts'
import type { AccountState } from '../state/accounts.ts'
import { badToken, type Failure, failure } from '../wire/errors.ts'
import { maxUploadBytes, queryOf, sendJson, tokenOf } from '../wire/http.ts'
import type { Params } from '../wire/params.ts'
import { sendFailure, type World } from '../world.ts'

const uploadTypes =
  /^(image\/(jpeg|png|webp)|video\/(mp4|3gpp)|audio\/(aac|amr|mpeg|mp4|ogg)|text\/plain|application\/(pdf|msword|vnd\.[\w.-]+))\s*(;[\x20-\x7e]*)?$/i
const uploadLimits: readonly [RegExp, number][] = [
  [/^image\/webp/, 500 * 1024],
  [/^image\//, 5 * 1024 * 1024],
  [/^(video|audio)\//, 16 * 1024 * 1024],
]

export function upload(world: World, state: AccountState, { values, files }: Params, response: ServerResponse) {
  const refuse = (wrong: Failure) => sendFailure(response, wrong)
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
  sendJson(response, 200, JSON.stringify({ id: media.id }))
}

/** The second step to a file: the link from `GET /{media}`, with the token. The type is the file's own; a browser downloads it. */
export function handleLookaside(world: World, request: IncomingMessage, response: ServerResponse) {
  const query = queryOf(request.url ?? '')
  const id = query.get('mid') ?? ''
  const token = tokenOf(request)
  if (token === undefined || world.accounts.byToken(token).length === 0) return sendFailure(response, badToken())
  const media = world.media.isLinkGood(id, query, Date.now()) ? world.media.get(id) : undefined
  const bytes = media && world.media.bytes(media)
  if (!media || !bytes) {
    response.writeHead(404, { 'content-type': 'text/plain', 'content-length': 0 }).end()
    return
  }
  const headers = { 'content-type': media.mime_type, 'content-disposition': 'attachment' }
  response.writeHead(200, { ...fileHeaders(media, bytes), ...headers }).end(bytes)
}
