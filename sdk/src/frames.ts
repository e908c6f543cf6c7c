/**
 * Server-sent events, as browsers read them: lines of a field and its value, a
 * blank line behind each event. Bytes come in whatever parts the network makes
 * of them; what is not complete waits for the next part.
 */

export type Frame = {
  /** What its `event` says. */
  name: string
  /** The last `id` that was said, by it or before it. */
  id: string
  data: string
}

/** The events that are complete with these bytes. */
export type ReadFrames = (bytes: Uint8Array) => Frame[]

export function createFrameReader(): ReadFrames {
  const decoder = new TextDecoder()
  let rest = ''
  let name = ''
  let id = ''
  let data: string[] = []

  const take = (line: string) => {
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') name = value
    else if (field === 'id') id = value
    else if (field === 'data') data.push(value)
  }

  return (bytes) => {
    const text = rest + decoder.decode(bytes, { stream: true })
    // A carriage return at the very end may be half of a line's end.
    const lines = text.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    const frames: Frame[] = []
    for (const line of lines) {
      if (line !== '') {
        take(line)
        continue
      }
      if (data.length > 0) frames.push({ name, id, data: data.join('\n') })
      name = ''
      data = []
    }
    return frames
  }
}
