/**
 * The baseline of a send: a bare server that takes a request, posts a
 * ready-made message to the provider and answers when the provider did. What
 * is posted to `/callback` it reads and answers 200. Takes `Forwarding` as JSON
 * on its standard input.
 */
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { Agent } from 'undici'

export type Forwarding = {
  port: number
  /** Where the provider takes messages. */
  url: string
  token: string
  /** What is posted, in turn. */
  messages: string[]
  /** What is answered. */
  headers: Record<string, string>
  body: string
}

const { port, url, token, messages, headers, body }: Forwarding = JSON.parse(await text(process.stdin))
const provider = new Agent({ connections: 256, pipelining: 1 })
const { origin, pathname: path } = new URL(url)
const sent = messages.map((message) => Buffer.from(message))
const authorization = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
let next = 0

createServer((request, response) => {
  request.resume().on('end', async () => {
    if (request.url === '/callback') return response.writeHead(200).end()
    const message = sent[next++ % sent.length] ?? ''
    const answer = await provider.request({ origin, path, method: 'POST', headers: authorization, body: message })
    await answer.body.text()
    response.writeHead(answer.statusCode === 200 ? 201 : 502, headers).end(body)
  })
}).listen(port, '127.0.0.1')
