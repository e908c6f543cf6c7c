/** A mail server on loopback that keeps what it receives and can refuse. */
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import type { Owner } from './owner.ts'
import { until } from './support.ts'

type ReceivedMail = { to: string[]; from: string; source: string; link: string }

export type MailServer = {
  settings: { url: string; from: string }
  mails: ReceivedMail[]
  /** Refuses recipients from now on. */
  refuse(reason: string | undefined): void
  /** Waits for the next mail to this address. */
  next(to: string): Promise<ReceivedMail>
}

const account = { user: 'parley', pass: 'a/b:c' }

export async function startMailServer(owner: Owner): Promise<MailServer> {
  const mails: ReceivedMail[] = []
  const taken = new Set<ReceivedMail>()
  let refusal: string | undefined
  const server = new SMTPServer({
    hideSTARTTLS: true,
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, done) =>
      username === account.user && password === account.pass
        ? done(null, { user: username })
        : done(new Error('wrong credentials')),
    onRcptTo: (_address, _session, done) =>
      refusal ? done(Object.assign(new Error(refusal), { responseCode: 550 })) : done(),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const source = decode(Buffer.concat(chunks).toString('utf8'))
        const { mailFrom, rcptTo } = session.envelope
        const [link = ''] = /https?:\/\/[^\s"<>]+/.exec(source) ?? []
        mails.push({ to: rcptTo.map(({ address }) => address), from: mailFrom ? mailFrom.address : '', source, link })
        done()
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  owner.after(() => new Promise<void>((resolve) => server.close(() => resolve())))
  const { port } = server.server.address() as AddressInfo
  const credentials = `${account.user}:${encodeURIComponent(account.pass)}`
  return {
    settings: { url: `smtp://${credentials}@127.0.0.1:${port}`, from: 'Parley <parley@acme.test>' },
    mails,
    refuse: (reason) => {
      refusal = reason
    },
    next: (to) =>
      until(`an e-mail to ${to}`, async () => {
        const mail = mails.find((each) => each.to.includes(to) && !taken.has(each))
        if (mail) taken.add(mail)
        return mail
      }),
  }
}

/** Quoted-printable, as far as our mails use it. */
const decode = (source: string): string =>
  Buffer.from(
    source
      .replace(/=\r?\n/g, '')
      .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString('utf8')
