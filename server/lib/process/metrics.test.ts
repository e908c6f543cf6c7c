import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from './metrics.ts'

test('a route is counted by status and by time, in cumulative buckets', async () => {
  const metrics = createMetrics()
  const observe = metrics.watchRoute('GET', '/v1/me')
  for (const [status, seconds] of [
    [200, 0.002],
    [200, 0.2],
    [429, 20],
  ] as const)
    observe(status, seconds)
  const text = await metrics.read()
  for (const line of [
    'parley_http_requests_total{method="GET",route="/v1/me",status="200"} 2',
    'parley_http_requests_total{method="GET",route="/v1/me",status="429"} 1',
    'parley_http_request_duration_seconds_bucket{le="0.001",method="GET",route="/v1/me"} 0',
    'parley_http_request_duration_seconds_bucket{le="0.0025",method="GET",route="/v1/me"} 1',
    'parley_http_request_duration_seconds_bucket{le="15",method="GET",route="/v1/me"} 2',
    'parley_http_request_duration_seconds_bucket{le="+Inf",method="GET",route="/v1/me"} 3',
    'parley_http_request_duration_seconds_count{method="GET",route="/v1/me"} 3',
  ]) {
    assert.ok(text.split('\n').includes(line), line)
  }
})

test('a counter has all its series from the start, and a route the statuses that alerts count', async () => {
  const metrics = createMetrics()
  const count = metrics.counter('sends', 'Sends.', 'outcome', ['sent', 'unknown'])
  metrics.watchRoute('GET', '/v1/me')
  count('sent')
  const text = await metrics.read()
  const zeros = [500, 503].map(
    (status) => `parley_http_requests_total{method="GET",route="/v1/me",status="${status}"} 0`,
  )
  for (const line of ['sends{outcome="sent"} 1', 'sends{outcome="unknown"} 0', ...zeros])
    assert.ok(text.split('\n').includes(line), line)
  assert.doesNotMatch(text, /request_duration_seconds_bucket/)
})

test('a gauge with several labels has one series per combination', async () => {
  const metrics = createMetrics()
  metrics.gauges('plan', 'How much.', ['workspace', 'what'], async () => [
    { labels: { workspace: 'a', what: 'used' }, value: 1 },
    { labels: { workspace: 'a', what: 'limit' }, value: 2 },
  ])
  const text = await metrics.read()
  assert.match(text, /^plan\{workspace="a",what="used"\} 1$/m)
  assert.match(text, /^plan\{workspace="a",what="limit"\} 2$/m)
})

test('a gauge that cannot be read is skipped, and the others are reported', async () => {
  const metrics = createMetrics()
  metrics.gauge('depth', 'How deep.', 'queue', async () => ({ a: 1 }))
  metrics.gauge('broken', 'Cannot be read.', 'state', async () => {
    throw new Error('the database is down')
  })
  const text = await metrics.read()
  assert.match(text, /^depth\{queue="a"\} 1$/m)
  assert.doesNotMatch(text, /^broken\{/m)
})
