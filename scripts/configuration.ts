/**
 * `npm run configuration` generates `docs/configuration.md` and `.env.example` from the settings in `server/config/config.ts`. A test checks
 * that both are current.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { settings } from '../server/config/config.ts'

const root = join(import.meta.dirname, '..')
export const configurationFile = join(root, 'docs/configuration.md')
export const exampleFile = join(root, '.env.example')

type Setting = [name: string, setting: { default: string; meaning: string }]

/** The sections of the page. A setting that no pattern names is in the first. */
const sections: readonly { title: string; pattern: RegExp; text?: string }[] = [
  { title: 'Service', pattern: /^$/ },
  {
    title: 'Network',
    pattern: /^(HOST|PORT|PUBLIC_URL|TLS_|TRUSTED_PROXIES|WEBHOOK_)/,
    text: '[Proxy and TLS](proxy.md) has an example for nginx, and the steps to change `PUBLIC_URL` or a certificate.',
  },
  {
    title: 'Media',
    pattern: /^MEDIA_/,
    text: 'Set all of them (the region has a default), or none. Services on several machines share a bucket or the folder `DATA_DIR/media`. Parley does not move files from one to the other.',
  },
  {
    title: 'Email',
    pattern: /^SMTP_/,
    text: '[Sign-in](sign-in.md#email) says what Parley sends, and how to check it.',
  },
  {
    title: 'Single sign-on',
    pattern: /^OIDC_/,
    text: '[Sign-in](sign-in.md#single-sign-on) explains who can sign in.',
  },
]

const introduction = `# Configuration

All settings are optional. They are environment variables; a file \`.env\` in the folder of the service adds those that are not set. If a
setting is invalid, the service lists all invalid ones and does not start. A change takes effect at the next start.

| installed as | settings are in |
|---|---|
| a service of systemd | \`/etc/parley.env\`, which only root needs to read |
| a container with compose | \`parley.env\` beside the compose file; the container sets \`HOST\`, \`PORT\` and \`DATA_DIR\` |
| a folder, with \`npm start\` | \`.env\`; run \`chmod 600 .env\`, because it holds secrets |

\`parley doctor\` names the settings it found, and reports unknown names in \`.env\`. This page and \`.env.example\` are generated from
\`server/config/config.ts\` by \`npm run configuration\`; a test compares them.
`

const conclusion = `## Variables of Node

| variable | meaning |
|---|---|
| \`NODE_OPTIONS\` | \`--max-old-space-size=256\` limits the heap of each process to 256 MB ([Scaling](scaling.md#memory)) |
| \`NODE_EXTRA_CA_CERTS\` | PEM file with the certificates of a private authority, for the database, single sign-on, S3 and mail servers |
`

export function describeConfiguration(): string {
  const all: Setting[] = Object.entries(settings)
  const sectionOf = (name: string) => sections.find(({ pattern }) => pattern.test(name)) ?? sections[0]
  const parts = sections.map((section) => {
    const rows = all
      .filter(([name]) => sectionOf(name) === section)
      .map(
        ([name, { default: value, meaning }]) =>
          `| \`${name}\` | ${value && `\`${value}\``} | ${meaning.replaceAll('<', '\\<')} |`,
      )
    const { title, text } = section
    return [
      `## ${title}`,
      '',
      ...(text ? [text, ''] : []),
      '| setting | default | meaning |',
      '|---|---|---|',
      ...rows,
      '',
    ]
  })
  return [introduction, ...parts.map((lines) => lines.join('\n')), conclusion].join('\n')
}

export function describeExample(): string {
  const lines = Object.entries(settings).map(
    ([name, { default: value, meaning }]) => `# ${meaning}\n# ${name}=${value}\n`,
  )
  return ['# Settings, all optional. Copy to .env and change what you need.\n', ...lines].join('\n')
}

if (import.meta.main) {
  writeFileSync(configurationFile, describeConfiguration())
  writeFileSync(exampleFile, describeExample())
}
