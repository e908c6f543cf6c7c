/**
 * E-mail by SMTP, for invitations and password resets. Without `SMTP_URL` the service sends none.
 *
 * A failure is a value: the caller decides what a person sees. The reason names what the operator can fix and contains no
 * credentials. Every step has a timeout, so a mail server that hangs delays a request by at most twenty seconds.
 */
import { createTransport } from 'nodemailer'

export type Mail = { to: string; subject: string; text: string; html: string }
export type MailOutcome = { ok: true } | { ok: false; reason: string }

export type Mailer = {
  send(mail: Mail): Promise<MailOutcome>
  /** Connects and signs in, and sends nothing. */
  verify(): Promise<MailOutcome>
  stop(): void
}

export type MailSettings = { url: string; from: string }

/** RFC 3834: so that vacation responders do not answer. */
const headers = { 'Auto-Submitted': 'auto-generated' }

const stepMs = 5_000
const totalMs = 20_000

export function createMailer({ url, from }: MailSettings): Mailer {
  const transport = createTransport({
    url,
    connectionTimeout: stepMs,
    greetingTimeout: stepMs,
    socketTimeout: stepMs * 2,
    dnsTimeout: stepMs,
    // A mail has no attachments, and its texts are ours: nothing is read from a file or another server.
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const inTime = async (run: () => Promise<unknown>): Promise<MailOutcome> => {
    const timeout = Promise.withResolvers<never>()
    const timer = setTimeout(() => timeout.reject(new Error(`no answer within ${totalMs / 1_000} s`)), totalMs)
    try {
      await Promise.race([run(), timeout.promise])
      return { ok: true }
    } catch (error) {
      return { ok: false, reason: describe(error) }
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    send: ({ to, subject, text, html }) =>
      // As an object an address is not parsed: a comma in it adds no recipient.
      inTime(() => transport.sendMail({ from, to: { name: '', address: to }, subject, text, html, headers })),
    verify: () => inTime(() => transport.verify()),
    stop: () => transport.close(),
  }
}

const maxReason = 300

/** The answer of the mail server, or the error of the connection, in one line. */
function describe(error: unknown): string {
  const { response, message } = error as { response?: string; message?: string }
  return (response || message || 'unknown error').replace(/\s+/g, ' ').slice(0, maxReason)
}
