/** `GET /v1/me`: throughput against a bare server with the same response, in alternating rounds; latency of a single caller. */
import type { Figure } from './figure.ts'
import { createKeys, describeCpu, discard, measureLoad, startBare, startService, toRequest } from './service.ts'

const rounds = 3
const connections = 64
const seconds = 5

export async function benchMe(): Promise<Figure[]> {
  const service = await startService()
  const keys = await createKeys(service, 2_000)
  const [first = ''] = keys
  const bare = await startBare(await fetch(`${service.url}/v1/me`, { headers: { authorization: `Bearer ${first}` } }))
  const requestsFor = (path: string) => keys.map((token) => toRequest({ path, token }))
  const ratios: number[] = []
  let parley = { perSecond: 0, p50: 0, p99: 0, failures: 0 }
  let baseline = { perSecond: 0 }
  for (let round = 0; round < rounds; round++) {
    await service.db`truncate api_key_windows`
    baseline = await measureLoad({ port: bare.port, requests: requestsFor('/'), connections, seconds })
    parley = await measureLoad({ port: service.port, requests: requestsFor('/v1/me'), connections, seconds })
    if (parley.failures > 0) throw new Error(`${parley.failures} responses were not 200`)
    ratios.push(parley.perSecond / baseline.perSecond)
  }
  await service.db`truncate api_key_windows`
  const load = { port: service.port, requests: requestsFor('/v1/me'), connections, seconds }
  const cpu = await describeCpu(service, load)
  await service.db`truncate api_key_windows`
  const lone = await measureLoad({ port: service.port, requests: requestsFor('/v1/me'), connections: 1, seconds })
  await bare.stop()
  await service.stop()
  discard(service)
  ratios.sort((a, b) => a - b)
  return [
    {
      what: 'GET /v1/me, 64 connections, 2,000 keys, share of bare node:http (median of 3)',
      value: ratios[1] ?? 0,
      unit: '×',
      goal: { atLeast: 0.5 },
      note: `last round ${Math.round(parley.perSecond)}/s against ${Math.round(baseline.perSecond)}/s; ${cpu}`,
    },
    { what: 'GET /v1/me, single caller, p50', value: lone.p50, unit: 'ms' },
    { what: 'GET /v1/me, single caller, p99', value: lone.p99, unit: 'ms', goal: { below: 5 } },
  ]
}
