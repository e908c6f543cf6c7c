import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nowIso } from '../lib/clock.ts'
import { diskWithLeastShare, findProblems, type Observed } from './checks.ts'

const engines = {
  ...{ service: 'a', process: 'engines', version: '1', started_at: nowIso(), reported_at: nowIso(), is_silent: false },
  ...{ restarts: 0, memory_bytes: 1e6, event_loop_lag_seconds: 0.01, clock_offset_ms: 0, disks: [], gauges: {} },
  loops: [{ name: 'digest', succeeded_at: null, is_failing: false }],
}
const fine: Observed = {
  queues: [
    { name: 'webhooks', count: 10_000, oldest_seconds: 300 },
    { name: 'media', count: 100, oldest_seconds: 9_000 },
  ],
  processes: [engines],
  disks: [{ service: 'a', folder: '/data', is_nearly_full: false }],
  delays: { search_seconds: 60, search_pending_pages: 1_000 },
}
const unknown: Observed = { queues: null, processes: null, disks: null, delays: null }

test('at its limits an installation has no problem, and what is unknown is none', () => {
  assert.deepEqual(findProblems(fine), [])
  assert.deepEqual(findProblems(unknown), [])
})

test('each exceeded limit is a problem with its place, and those to page for come first', () => {
  const failing = { ...engines, process: 'api', loops: [{ name: 'clock', succeeded_at: null, is_failing: true }] }
  const problems = findProblems({
    queues: [
      { name: 'webhooks', count: 10_001, oldest_seconds: 301 },
      { name: 'media', count: 101, oldest_seconds: 1 },
    ],
    processes: [
      { ...engines, is_silent: true },
      { ...failing, restarts: 1, memory_bytes: 501e6, event_loop_lag_seconds: 0.6 },
    ],
    disks: [{ service: 'a', folder: '/data', is_nearly_full: true }],
    delays: { search_seconds: 61, search_pending_pages: 1_001 },
  })
  assert.deepEqual(
    problems.map(({ severity, alert, where }) => [severity, alert, where].filter(Boolean).join(' ')),
    [
      'page ParleyProcessSilent a engines',
      'page ParleyLoopFailing a api: clock',
      'page ParleyNoWorker',
      'page ParleyWebhooksLate',
      'page ParleyDiskNearlyFull a /data',
      'ticket ParleyWebhookQueueGrows',
      'ticket ParleySearchLate',
      'ticket ParleySearchIndexGrows',
      'ticket ParleyMediaWaiting',
      'ticket ParleyProcessRestarted a api',
      'ticket ParleyMemoryHigh a',
      'ticket ParleyEventLoopSlow a api',
    ],
  )
})

test('the alert rule for disks judges the one with the least share of free space', () => {
  const large = { folder: '/postgres', freeBytes: 10e9, totalBytes: 200e9 }
  const small = { folder: '/data', freeBytes: 5e9, totalBytes: 6e9 }
  assert.deepEqual([diskWithLeastShare([small, large]), diskWithLeastShare([])], [large, undefined])
})
