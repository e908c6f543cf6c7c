/**
 * Baseline of a send: a bare server that posts a prepared message to the provider for each request and responds after the
 * provider. It answers requests to `/callback` with 200. Reads `Forwarding` as JSON from standard input.
 */
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { Agent } from 'undici'

export type Forwarding = {
  port: number
  /** The provider's address for messages. */
  url: string
  token: string
  /** The messages to post, in a cycle. */
  messages: string[]
  /** The response. */
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
