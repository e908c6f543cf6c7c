/** An incremental parser for server-sent events. Incomplete frames wait for the next chunk of bytes. */

export type Frame = {
  /** The value of the `event` field. */
  name: string
  /** The most recent `id` field, of this frame or an earlier one. */
  id: string
  data: string
}

/** Returns the frames that these bytes complete. */
export type ReadFrames = (bytes: Uint8Array) => Frame[]

export function createFrameReader(): ReadFrames {
  const decoder = new TextDecoder()
  let rest = ''
  let name = ''
  let id = ''
  let data: string[] = []

  const parseField = (line: string) => {
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') name = value
    else if (field === 'id') id = value
    else if (field === 'data') data.push(value)
  }

  return (bytes) => {
    const text = rest + decoder.decode(bytes, { stream: true })
    // A final carriage return may be the first half of a CRLF.
    const lines = text.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    const frames: Frame[] = []
    for (const line of lines) {
      if (line !== '') {
        parseField(line)
        continue
      }
      if (data.length > 0) frames.push({ name, id, data: data.join('\n') })
      name = ''
      data = []
    }
    return frames
  }
}
