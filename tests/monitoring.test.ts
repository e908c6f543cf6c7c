/** `monitoring/`: alert rules and a dashboard that use series of the service, and a paragraph for each alert. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { describeAlerts } from '../scripts/alerts.ts'
import { resolvePackage } from '../scripts/packages.ts'
import { createFolder } from './folder.ts'
import { checks } from './internals.ts'
import { startService } from './program.ts'
import { createDatabase } from './support.ts'

const pathOf = (path: string) => join(import.meta.dirname, '..', path)
const read = (path: string) => readFileSync(pathOf(path), 'utf8')
const promtool = resolvePackage('prometheus', ['/usr/bin/promtool'])

const panels: { title: string; targets: { expr: string }[] }[] = JSON.parse(read('monitoring/dashboard.json')).panels

test('alert rules and panels use series that the service has', async (t) => {
  const { url } = await createDatabase(t)
  const settings = { DATABASE_URL: url, ENCRYPTION_KEY: 'ab'.repeat(32), DATA_DIR: createFolder(t) }
  const service = await startService(t, { ...settings, PROCESSES: '1', DEMO: '0' })
  const metrics = await (await fetch(`${service.url}/metrics`)).text()
  const known = new Set([...metrics.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name))
  for (const { expr } of checks) for (const selector of selectorsOf(expr)) assertCounted(metrics, selector)
  const expressions = [...checks, ...panels.flatMap(({ targets }) => targets)].map(({ expr }) => expr)
  assert.ok(expressions.length > 30)
  for (const expr of expressions) {
    const names = expr.match(/\b(?:parley|process|nodejs)_\w+/g) ?? []
    assert.ok(names.length > 0 || expr.startsWith('up{job="parley"}'), expr)
    for (const name of names) assert.ok(known.has(name.replace(/_bucket$/, '')), `${name} in ${expr}`)
  }
})

type Selector = { name: string; matchers: string[] }

/** The series that an expression reads. */
const selectorsOf = (expr: string): Selector[] =>
  [...expr.matchAll(/\b(up|(?:parley|process|nodejs)_\w+)\b(?:\{([^}]*)\})?/g)].map(([, name = '', matchers = '']) => ({
    name,
    matchers: matchers.split(',').filter(Boolean),
  }))

/**
 * A counter has all series that a rule selects from the start, at 0: otherwise its first event is no increase. A histogram is
 * exempt, because a quantile of many requests does not depend on the first.
 */
function assertCounted(metrics: string, { name, matchers }: Selector): void {
  if (!metrics.includes(`# TYPE ${name} counter`)) return
  for (const matcher of matchers) {
    const [, label, values = ''] = /^(\w+)=~?"(.*)"$/.exec(matcher) ?? []
    if (label === 'job') continue
    for (const value of values.split('|')) {
      // Readiness is asked before the service is ready.
      const series = metrics
        .split('\n')
        .filter((line) => line.startsWith(`${name}{`) && line.includes(`${label}="${value}"`))
        .filter((line) => !line.includes('route="/readyz"'))
      assert.ok(series.length > 0, `${name} has no series with ${label}="${value}"`)
      for (const line of series) assert.match(line, / 0$/)
    }
  }
}

test('every rule reads the series of the job parley only', () => {
  for (const { alert, expr } of checks) {
    const selectors = selectorsOf(expr)
    assert.ok(selectors.length > 0, alert)
    for (const { matchers } of selectors) assert.ok(matchers.includes('job="parley"'), `${alert}: ${expr}`)
  }
})

test('the alert rules and docs/alerts.md have every check, with what to do for it', () => {
  for (const [path, text] of Object.entries(describeAlerts())) assert.equal(read(path), text, 'run `npm run alerts`')
  for (const { alert, advice } of checks) assert.ok(advice.length > 80, `${alert} says too little`)
})

test('Prometheus accepts the alert rules', { skip: promtool ? false : 'promtool is not installed' }, () => {
  const output = execFileSync(promtool ?? '', ['check', 'rules', pathOf('monitoring/alerts.yaml')], {
    encoding: 'utf8',
  })
  assert.match(output, new RegExp(`SUCCESS: ${checks.length} rules found`))
})

test('the rules fire for the service, and for no other program on its address', {
  skip: promtool ? false : 'promtool is not installed',
}, () => {
  execFileSync(promtool ?? '', ['test', 'rules', pathOf('tests/fixtures/alerts.test.yaml')], { encoding: 'utf8' })
})
