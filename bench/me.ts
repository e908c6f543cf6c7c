/** `GET /v1/me` against a bare server that returns the same bytes, turn about in one run; and a lone caller's wait. */

import type { Figure } from './figure.ts'
import { createKeys, discard, measureLoad, startBare, startService, toRequest } from './service.ts'

const rounds = 3
const connections = 64
const seconds = 5

export async function benchMe(): Promise<Figure[]> {
  const service = await startService()
  const keys = await createKeys(service, 2_000)
  const [first = ''] = keys
  const bare = await startBare(await fetch(`${service.url}/v1/me`, { headers: { authorization: `Bearer ${first}` } }))
  const ask = (path: string) => keys.map((token) => toRequest({ path, token }))
  const ratios: number[] = []
  let parley = { perSecond: 0, p50: 0, p99: 0, failures: 0 }
  let baseline = { perSecond: 0 }
  for (let round = 0; round < rounds; round++) {
    await service.db`truncate api_key_windows`
    baseline = await measureLoad({ port: bare.port, requests: ask('/'), connections, seconds })
    parley = await measureLoad({ port: service.port, requests: ask('/v1/me'), connections, seconds })
    if (parley.failures > 0) throw new Error(`${parley.failures} answers were not 200`)
    ratios.push(parley.perSecond / baseline.perSecond)
  }
  await service.db`truncate api_key_windows`
  const lone = await measureLoad({ port: service.port, requests: ask('/v1/me'), connections: 1, seconds })
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
      note: `last round ${Math.round(parley.perSecond)}/s against ${Math.round(baseline.perSecond)}/s`,
    },
    { what: 'GET /v1/me, lone caller, p50', value: lone.p50, unit: 'ms' },
    { what: 'GET /v1/me, lone caller, p99', value: lone.p99, unit: 'ms', goal: { below: 5 } },
  ]
}
