/**
 * Files that visitors of the web chat upload. A visitor is anonymous, so only types are accepted that a member's computer
 * displays without running them. The first bytes decide; a name never has the ending of another type.
 */
import { badRequest } from '../lib/errors.ts'

export const maxVisitorBytes = 10 * 1024 * 1024

/** The accepted types with their endings; the first is added to a name that has none of them. */
const endings: Readonly<Record<string, readonly string[]>> = {
  'image/jpeg': ['jpg', 'jpeg'],
  'image/png': ['png'],
  'image/gif': ['gif'],
  'image/webp': ['webp'],
  'video/mp4': ['mp4', 'm4v', 'mov'],
  'video/3gpp': ['3gp', '3g2'],
  'audio/mp4': ['m4a', 'mp4'],
  'audio/mpeg': ['mp3'],
  'audio/ogg': ['ogg', 'oga', 'opus'],
  'audio/aac': ['aac'],
  'audio/amr': ['amr'],
  'audio/wav': ['wav'],
  'application/pdf': ['pdf'],
  'text/plain': ['txt', 'log'],
  'text/csv': ['csv'],
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': ['docx'],
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': ['xlsx'],
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': ['pptx'],
  'application/vnd.oasis.opendocument.text': ['odt'],
  'application/vnd.oasis.opendocument.spreadsheet': ['ods'],
}

/** Returns the name to store. 400 for a type that is not accepted. */
export function requireVisitorFile(
  head: Buffer,
  { mime_type, filename }: { mime_type: string; filename: string | null },
): string {
  const accepted = Object.hasOwn(endings, mime_type) ? endings[mime_type] : undefined
  if (!accepted || !isAsDeclared(head, mime_type)) throw badRequest('body: this type of file is not accepted')
  const name = filename ?? 'file'
  const ending = /\.([^.]*)$/.exec(name)?.[1]?.toLowerCase() ?? ''
  return accepted.includes(ending) ? name : `${name}.${accepted[0]}`
}

/** Documents have no first bytes of their own: office files are archives, and a text has no control bytes. */
function isAsDeclared(head: Buffer, mimeType: string): boolean {
  if (mimeType.startsWith('application/vnd.')) return head.toString('latin1', 0, 4) === 'PK\x03\x04'
  if (mimeType.startsWith('text/')) return !head.some((byte) => byte < 9)
  return true
}
