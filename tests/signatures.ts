/** Signatures of deliveries with the result that each verifier must give: the published receivers and the SDK. */
import { signatureOf } from '../common/webhook-request.ts'

export const secret = 'whsec_test_secret'
export const t = 1_700_000_000
export const vectors = [
  ['{"a":1,"b":{"c":[1,2,3]}}', '15d79cf9ceb13eb2da9bdf43ed419589bcd491e1a8cee7ff71d4a2aaf7d290f2'],
  ['{"n":12345678901234567890,"f":1.10}', '13a6f8f444ae3df2e098ae0aa8c74d5f188e38996701ef21857a8878a3a907ec'],
] as const

export type Case = { secret: string; header: string; body: string; now: number; ok: boolean }

export const cases: Case[] = vectors.flatMap(([body, v1]) => {
  const header = `t=${t},v1=${v1}`
  const good = { secret, header, body, now: t, ok: true }
  const refused = [
    { now: t + 301 },
    { now: t - 301 },
    { body: `${body} ` },
    { body: '' },
    { secret: 'test_secret' },
    { secret: '' },
    ...[
      '',
      ',',
      'undefined',
      `v1=${v1}`,
      `t=${t}`,
      `t=${t},v1=`,
      `v1=${v1},t=${t}`,
      `t=${t}, v1=${v1}`,
      ` ${header}`,
      `${header}\n`,
      `${header}0`,
      `${header} ,`,
      `${header}\0`,
      `x${header}`,
      `\n${header}`,
      `${header.slice(0, -1)}`,
      `${header.slice(0, -1)}\u00e9`,
      `t=${t},v1=${v1.toUpperCase()}`,
      `t=${t},v0=${v1}`,
      `t=${t},v1=${'0'.repeat(64)}`,
      `t=${t},v1=${'0'.repeat(64)},v1=${'f'.repeat(64)}`,
      `t=${t},v1=${'0'.repeat(64)}, v1=${v1}`,
      `v1=${v1},t=${t},v1=${v1}`,
      `t=${t + 1},t=${t},v1=${v1}`,
      `t=${t},v1=${'0'.repeat(64)}`.repeat(1_000),
      `t=${t + 1},v1=${v1}`,
      `t=0${t},v1=${v1}`,
      `t=+${t},v1=${v1}`,
      `t=-${t},v1=${v1}`,
      `t=${t}.0,v1=${v1}`,
      `t=1.7e9,v1=${v1}`,
      `t=NaN,v1=${v1}`,
      `t=,v1=${v1}`,
      `t=${'9'.repeat(400)},v1=${v1}`,
      // Digits to some, but not ours.
      `t=\u0661\u0667\u0660\u0660\u0660\u0660\u0660\u0660\u0660\u0660,v1=${v1}`,
      `t=${t},v1=${'\u{1d7d8}'.repeat(64)}`,
      `t=${t},v1=${'a'.repeat(100_000)}`,
      't='.repeat(10_000),
    ].map((header) => ({ header })),
  ]
  return [
    good,
    { ...good, now: t + 300 },
    { ...good, now: t - 300 },
    { ...good, header: `${header},v2=something-of-the-future` },
    // During a rotation of the secret, any of the signatures may match.
    { ...good, header: `t=${t},v1=${'0'.repeat(64)},v1=${v1}` },
    { ...good, header: `t=${t},v1=${v1},v1=${'0'.repeat(64)}` },
    { ...good, header: `t=${t},v1=,v0=x,v1=é${',v1=0'.repeat(5)},v1=${v1}` },
    ...refused.map((change) => ({ ...good, ...change, ok: false })),
  ]
})
// A signature with an empty secret is never valid.
cases.push({ secret: '', header: `t=${t},v1=${signatureOf('', t, '{}')}`, body: '{}', now: t, ok: false })
const text = '{"text":"\u2028 é 😀"}'
cases.push({ secret, header: `t=${t},v1=${signatureOf(secret, t, text)}`, body: text, now: t, ok: true })
