/**
 * `npm run bench [name …]`: runs the benchmarks and adds the results to the top of `bench/RESULTS.md`, with machine and commit.
 *
 * Most figures are ratios within one run, because absolute times vary between runs. Run it on an idle machine.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { benchAutomation } from './automation.ts'
import { benchAutomationCrash } from './automation-crash.ts'
import { benchAutomationInbound } from './automation-inbound.ts'
import { benchBroadcastCrash } from './broadcast-crash.ts'
import { benchBroadcasts } from './broadcasts.ts'
import { benchCapacity } from './capacity.ts'
import { benchContactBatch } from './contact-batch.ts'
import { benchContacts } from './contacts.ts'
import { benchCrmSync } from './crm-sync.ts'
import { benchDashboard } from './dashboard.ts'
import { type Figure, met, toRow } from './figure.ts'
import { benchFirstContacts } from './first-contacts.ts'
import { benchGrowth } from './growth.ts'
import { benchIdle } from './idle.ts'
import { benchImport } from './import.ts'
import { benchImportKill } from './import-kill.ts'
import { benchInbound } from './inbound.ts'
import { benchLists } from './lists.ts'
import { benchMe } from './me.ts'
import { benchMessages } from './messages.ts'
import { benchNeighbours } from './neighbours.ts'
import { benchNumbers } from './numbers.ts'
import { benchRecovery } from './recovery.ts'
import { benchRequestLog } from './request-log.ts'
import { benchSlowVisitors } from './slow-visitors.ts'
import { benchStart } from './start.ts'
import { benchTeams } from './teams.ts'
import { benchUpgrade } from './upgrade.ts'
import { benchWebhooks } from './webhooks.ts'
import { benchWrites } from './writes.ts'

const benches: Record<string, () => Promise<Figure[]>> = {
  start: benchStart,
  me: benchMe,
  idle: benchIdle,
  'request-log': benchRequestLog,
  contacts: benchContacts,
  'contact-batch': benchContactBatch,
  'crm-sync': benchCrmSync,
  import: benchImport,
  'import-kill': benchImportKill,
  lists: benchLists,
  writes: benchWrites,
  messages: benchMessages,
  'first-contacts': benchFirstContacts,
  inbound: benchInbound,
  webhooks: benchWebhooks,
  automation: benchAutomation,
  'automation-inbound': benchAutomationInbound,
  'automation-crash': benchAutomationCrash,
  teams: benchTeams,
  broadcasts: benchBroadcasts,
  numbers: benchNumbers,
  'broadcast-crash': benchBroadcastCrash,
  recovery: benchRecovery,
  dashboard: benchDashboard,
  'slow-visitors': benchSlowVisitors,
  neighbours: benchNeighbours,
  capacity: benchCapacity,
  'ten-million': () => benchGrowth(10_000_000),
  upgrade: benchUpgrade,
  'fifty-million': () => benchGrowth(50_000_000),
}
const wanted = process.argv.slice(2)
/** Needs 60 GB of disk and hours, so it runs only by name. */
const byNameOnly = ['fifty-million']
const names = Object.keys(benches).filter((name) =>
  wanted.length === 0 ? !byNameOnly.includes(name) : wanted.includes(name),
)

const rows: string[] = []
let missed = 0
for (const name of names) {
  for (const figure of (await benches[name]?.()) ?? []) {
    rows.push(toRow(figure))
    console.log(rows.at(-1))
    if (!met(figure)) missed++
  }
}

const commit = execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).trim()
const machine = `${availableParallelism()} cores (${cpus()[0]?.model}), ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform} ${process.arch}`
const file = join(import.meta.dirname, 'RESULTS.md')
const [head = '', ...before] = readFileSync(file, 'utf8').split('\n## ')
const entry = [
  `${new Date().toISOString().slice(0, 10)}, ${commit}`,
  '',
  `${machine}, Node ${process.versions.node}; service, database and load on the same cores.`,
  '',
  '| figure | measured | goal | | note |',
  '|---|---|---|---|---|',
  ...rows,
  '',
].join('\n')
writeFileSync(file, [head, entry, ...before].join('\n## '))
console.log(missed === 0 ? 'All goals met.' : `${missed} goals missed.`)
process.exit(0)
