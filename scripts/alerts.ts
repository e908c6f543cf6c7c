/**
 * `npm run alerts` generates the alert rules of Prometheus (`monitoring/alerts.yaml`) and their guide (`docs/alerts.md`) from the list in
 * `server/web/checks.ts`. A test checks that both are current.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checks } from '../server/web/checks.ts'

const rulesHeader = `# Alert rules for Prometheus. The scrape job must be called \`parley\`. docs/alerts.md says what to do for each.
# Generated from server/web/checks.ts by \`npm run alerts\`.
groups:
  - name: parley
    rules:
`

const guideHeader = `# Alerts

What to do when an alert of [monitoring/alerts.yaml](../monitoring/alerts.yaml) fires. \`page\` means now, \`ticket\` means on the next working day.
[Monitoring](monitoring.md) says how to set them up, and [Run in production](running.md#commands) how commands start in your installation.
`

const describeRules = (): string =>
  checks.reduce(
    (text, { alert, severity, summary, expr, for: duration }) => `${text}      - alert: ${alert}
        expr: >-
          ${expr}
${duration ? `        for: ${duration}\n` : ''}        labels:
          severity: ${severity}
        annotations:
          summary: ${summary}
          runbook: docs/alerts.md#${alert.toLowerCase()}
`,
    rulesHeader,
  )

const describeGuide = (): string =>
  checks.reduce(
    (text, { alert, severity, summary, advice }) => `${text}
## ${alert}

**${summary}** (\`${severity}\`)

${advice.replace(/(.{1,140})(?: |$)/g, '$1\n')}`,
    guideHeader,
  )

/** The files by their paths in the repository. */
export const describeAlerts = (): Record<string, string> => ({
  'monitoring/alerts.yaml': describeRules(),
  'docs/alerts.md': describeGuide(),
})

if (import.meta.main) {
  for (const [path, text] of Object.entries(describeAlerts()))
    writeFileSync(join(import.meta.dirname, '..', path), text)
}
