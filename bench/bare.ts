/** Baseline: a bare `node:http` server with one fixed response. Usage: `bare.ts <port> <headers as JSON> <body>` */
import { createServer } from 'node:http'

const [port, headers = '', body = ''] = process.argv.slice(2)
const sameHeaders = JSON.parse(headers)
createServer((_request, response) => response.writeHead(200, sameHeaders).end(body)).listen(Number(port), '127.0.0.1')
