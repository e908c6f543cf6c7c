/** The texts of the e-mails that the service sends, as plain text and as simple HTML. */
import type { Mail } from '../lib/mail.ts'
import type { MemberRole } from './members.ts'

type Invitation = { to: string; workspaceName: string; inviter: string; role: MemberRole; link: string }

export const invitationMail = ({ to, workspaceName, inviter, role, link }: Invitation): Mail =>
  linkMail({
    to,
    subject: `Join ${workspaceName} on Parley`,
    paragraphs: [
      `${inviter} invites you to join ${workspaceName} on Parley as ${role}. Open this link to choose your password:`,
      'The link works once and expires in 7 days. If you do not expect this invitation, ignore this e-mail.',
    ],
    link,
    action: `Join ${workspaceName}`,
  })

export const passwordResetMail = ({ to, link }: { to: string; link: string }): Mail =>
  linkMail({
    to,
    subject: 'Reset your Parley password',
    paragraphs: [
      'Open this link to choose a new password for Parley:',
      'The link works once and expires in 1 hour. If you did not ask for it, ignore this e-mail: your password stays as it is.',
    ],
    link,
    action: 'Choose a new password',
  })

/** A text with one link, as plain text and as simple HTML. */
function linkMail({ to, subject, paragraphs, link, action }: LinkMail): Mail {
  const [first = '', ...rest] = paragraphs
  const text = [first, link, ...rest].join('\n\n')
  const html = `<!doctype html><html><body style="font-family:sans-serif;line-height:1.5;color:#1c1c28">
<p>${escapeHtml(first)}</p>
<p><a href="${escapeHtml(link)}">${escapeHtml(action)}</a></p>
<p style="color:#555">${escapeHtml(link)}</p>
${rest.map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`).join('\n')}
</body></html>`
  return { to, subject: subject.replace(/\s+/g, ' '), text: `${text}\n`, html }
}

type LinkMail = {
  to: string
  subject: string
  /** The link follows the first. */
  paragraphs: readonly string[]
  link: string
  /** The text of the link in HTML. */
  action: string
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? '')
