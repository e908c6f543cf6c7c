/** The fields of a `multipart/form-data` body that is in memory already. */
export type Part = { filename: string | undefined; mime_type: string; bytes: Buffer }

export function parseMultipart(contentType: string, body: Buffer): Map<string, Part> | undefined {
  const boundary = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType)
  const mark = boundary?.[1] ?? boundary?.[2]
  if (!mark) return undefined
  const parts = new Map<string, Part>()
  const delimiter = Buffer.from(`--${mark}`)
  let start = body.indexOf(delimiter)
  while (start >= 0) {
    const from = start + delimiter.length
    const end = body.indexOf(delimiter, from)
    if (end < 0) return parts
    const headEnd = body.indexOf('\r\n\r\n', from)
    if (headEnd >= 0 && headEnd < end) {
      const head = body.toString('utf8', from, headEnd)
      const name = /content-disposition:[^\r\n]*?[;\s]name="([^"]*)"/i.exec(head)?.[1]
      if (name !== undefined) {
        parts.set(name, {
          filename: /[;\s]filename="([^"]*)"/i.exec(head)?.[1],
          mime_type: /content-type:\s*([^\r\n]+)/i.exec(head)?.[1]?.trim() ?? 'text/plain',
          // The line break before the delimiter belongs to the delimiter.
          bytes: body.subarray(headEnd + 4, end - 2),
        })
      }
    }
    start = end
  }
  return parts
}
