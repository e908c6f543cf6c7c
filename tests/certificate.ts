/** Self-signed certificates with chosen times of validity. Node makes keys and signatures, but no certificates. */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

export type Certificate = { cert: string; key: string }

/** For `127.0.0.1`, or for another address. Both times are in days from now. */
export function createCertificate({ from = -10, to = 100, address = '127.0.0.1' } = {}): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(tagged(0x31, sequence(commonName, text('parley.test'))))
  const subjectAltName = sequence(tagged(0x87, Buffer.from(address.split('.').map(Number))))
  const content = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    sequence(ecdsaWithSha256),
    name,
    sequence(time(from), time(to)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(sequence(subjectAltNameId, tagged(0x04, subjectAltName)))),
  )
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', content, privateKey)])
  const der = sequence(content, sequence(ecdsaWithSha256), tagged(0x03, signature))
  const lines = der.toString('base64').replace(/.{64}/g, '$&\n')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/** A value in DER: tag, length, content. */
function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const sequence = (...parts: Buffer[]): Buffer => tagged(0x30, Buffer.concat(parts))
const text = (value: string): Buffer => tagged(0x0c, Buffer.from(value))
const ecdsaWithSha256 = tagged(0x06, Buffer.from('2a8648ce3d040302', 'hex'))
const commonName = tagged(0x06, Buffer.from('550403', 'hex'))
const subjectAltNameId = tagged(0x06, Buffer.from('551d11', 'hex'))

/** A time in seconds, such as `20260131093000Z`. */
function time(days: number): Buffer {
  const digits = new Date(Date.now() + days * 86_400_000).toISOString().replace(/\D/g, '').slice(0, 14)
  return tagged(0x18, Buffer.from(`${digits}Z`))
}
