/**
 * The health check of the container: exits with 0 if the service on this machine answers `/healthz`.
 *
 * It does not check the certificate, because the name in it is not the one of this machine.
 */
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'

const { PORT: port = '4000', TLS_CERT_FILE: certificate } = process.env
const request = certificate ? requestHttps : requestHttp
const options = { host: '127.0.0.1', port, path: '/healthz', timeout: 4000, rejectUnauthorized: false }

request(options, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1))
  .on('timeout', () => process.exit(1))
  .on('error', ({ message }) => {
    console.error(message)
    process.exit(1)
  })
  .end()
