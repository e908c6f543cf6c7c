/** Names, the certificate of the public URL, the mail server and the bucket. */
import { X509Certificate } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import { isLoopbackHost } from '../../common/address.ts'
import { nowMs } from '../lib/clock.ts'
import { createMailer } from '../lib/mail.ts'
import { within } from '../lib/time.ts'
import { createMediaStore } from '../media/store.ts'
import { checkMs, ok, problem, type Result, skipped, toLine, warning } from './check.ts'
import { faultIn, type Installation } from './installation.ts'

/** `hosts` by what they are for. Addresses and names of this machine need no name server. */
export async function checkNames(hosts: readonly { host: string; purpose: string }[]): Promise<Result[]> {
  const byHost = new Map(hosts.map(({ host, purpose }) => [host.replace(/^\[|\]$/g, ''), purpose]))
  const names = [...byHost].filter(([host]) => host !== '' && !isIP(host) && !isLoopbackHost(host))
  if (names.length === 0) return [ok('no setting has a name to resolve')]
  return Promise.all(
    names.map(async ([host, purpose]) => {
      try {
        const found = await within(checkMs - 500, lookup(host, { all: true }))
        if (!found) throw new Error('no answer from the name server')
        return ok(`${host} (${purpose}) is ${found.map(({ address }) => address).join(', ')}`)
      } catch (error) {
        const fix = `Correct the name, add a DNS record for it, or correct the name server of this machine.`
        return problem(`${host} (${purpose}) cannot be resolved: ${toLine(error)}`, fix)
      }
    }),
  )
}

const expiresSoonDays = 14
const dayMs = 86_400_000

/** The certificate that clients of the public URL get. Without an answer, that of `TLS_CERT_FILE`. */
export async function checkCertificate(installation: Installation): Promise<Result[]> {
  const fault = faultIn(installation, 'PUBLIC_URL', 'TLS_CERT_FILE', 'TLS_KEY_FILE')
  if (fault) return [skipped(fault)]
  const { publicUrl, tls } = installation.config
  const url = new URL(publicUrl)
  if (url.protocol !== 'https:') return [skipped('PUBLIC_URL is not https')]
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const served = await readServed(host, Number(url.port || 443))
  if ('error' in served) {
    const file = tls
      ? [describe(new X509Certificate(tls.cert), host, undefined, 'the certificate in TLS_CERT_FILE')]
      : []
    if (tls && file[0]) return file
    const fix = `Check DNS, the firewall and the proxy. If only this machine cannot reach its own public address, check it from outside: curl -I ${url.origin}`
    return [problem(`no TLS connection to ${url.host}: ${served.error}`, fix)]
  }
  const { certificate, refusal } = served
  return [describe(certificate, host, refusal, `the certificate of ${url.host}`)]
}

type Served = { certificate: X509Certificate; refusal: string | undefined } | { error: string }

/** `refusal`: why a client would refuse the certificate. */
function readServed(host: string, port: number): Promise<Served> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, ...(isIP(host) ? {} : { servername: host }), rejectUnauthorized: false })
    const end = (served: Served) => {
      resolve(served)
      socket.destroy()
    }
    socket.setTimeout(checkMs - 500, () => end({ error: 'no answer' }))
    socket.once('error', (error) => end({ error: toLine(error) }))
    socket.once('secureConnect', () => {
      const certificate = socket.getPeerX509Certificate()
      const refusal = socket.authorized ? undefined : String(socket.authorizationError)
      end(certificate ? { certificate, refusal } : { error: 'the server has no certificate' })
    })
  })
}

function describe(certificate: X509Certificate, host: string, refusal: string | undefined, name: string): Result {
  const days = Math.floor((certificate.validToDate.getTime() - nowMs()) / dayMs)
  const until = certificate.validToDate.toISOString().slice(0, 10)
  const renew = 'Renew the certificate, install it, and restart or reload the server that has it.'
  if (days < 0) return problem(`${name} expired on ${until}`, renew)
  if (certificate.validFromDate.getTime() > nowMs()) {
    return problem(`${name} is not valid yet`, 'Correct the clock of this machine, or install the right certificate.')
  }
  const fits = isIP(host) ? certificate.checkIP(host) : certificate.checkHost(host)
  if (!fits) return problem(`${name} is not for ${host}`, `Install a certificate that names ${host}.`)
  if (refusal) {
    const fix =
      'Install the full chain (fullchain.pem) of a certificate from a public authority; the provider refuses others.'
    return problem(`${name} is not trusted: ${refusal}`, fix)
  }
  const found = `${name} is valid until ${until}, for ${days} more days`
  return days < expiresSoonDays ? warning(found, renew) : ok(found)
}

/** Connects and signs in, and sends no e-mail. */
export async function checkMail(installation: Installation): Promise<Result[]> {
  const fault = faultIn(installation, 'SMTP_URL', 'SMTP_FROM')
  if (fault) return [skipped(fault)]
  const { smtp } = installation.config
  if (!smtp) return [ok('SMTP_URL is not set: members pass on the links of invitations and password resets')]
  const url = new URL(smtp.url)
  const server = `${url.hostname}:${url.port || (url.protocol === 'smtps:' ? 465 : 587)}`
  const verify = async (settings: typeof smtp) => {
    const mailer = createMailer(settings)
    try {
      return (await within(checkMs - 500, mailer.verify())) ?? { ok: false as const, reason: 'no answer' }
    } finally {
      mailer.stop()
    }
  }
  const isPlain = url.protocol === 'smtp:' && !url.searchParams.has('requireTLS')
  const encryptedUrl = new URL(url)
  encryptedUrl.searchParams.set('requireTLS', 'true')
  // The second one shows whether the server offers STARTTLS.
  const [outcome, encrypted] = await Promise.all([
    verify(smtp),
    isPlain ? verify({ ...smtp, url: encryptedUrl.href }) : undefined,
  ])
  if (!outcome.ok) {
    const isRefused = /^5\d\d|auth|credential|login/i.test(outcome.reason)
    const fix = isRefused
      ? 'Correct user and password in SMTP_URL; write special characters in percent-encoding, such as %40 for @.'
      : 'Correct scheme, host and port in SMTP_URL (smtps:// for 465, smtp:// for 587), and allow the connection in the firewall.'
    return [problem(`${server}: ${outcome.reason}`, fix)]
  }
  const account = url.username ? `accepts the user ${decodeURIComponent(url.username)}` : 'answers, without signing in'
  if (encrypted && !encrypted.ok) {
    const fix = 'Use smtps://, or a server with STARTTLS, and append ?requireTLS=true.'
    return [warning(`${server} ${account}, without encryption`, fix)]
  }
  return [ok(`${server} ${account}, encrypted; no e-mail was sent`)]
}

/** Reads an object that does not exist. Only for a bucket: a folder is checked by its rights. */
export async function checkBucket(installation: Installation): Promise<Result[]> {
  const { mediaS3, dataDir } = installation.config
  const fault = installation.faults.find(({ setting }) => setting.startsWith('MEDIA_S3'))
  if (fault) return [skipped(`${fault.setting} is invalid`)]
  if (!mediaS3) return [ok(`media are stored in ${dataDir}/media`)]
  const at = `${mediaS3.endpoint}, bucket ${mediaS3.bucket}`
  try {
    const found = await createMediaStore({ dataDir, mediaS3 }).get('parley-doctor')
    found?.bytes.destroy()
    return [ok(`${at} answers and accepts the access key`)]
  } catch (error) {
    const fix =
      'Correct the MEDIA_S3 settings, the rights of the access key, and the clock of this machine (S3 allows 15 minutes).'
    return [problem(`${at}: ${toLine(error)}`, fix)]
  }
}
