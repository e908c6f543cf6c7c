/** Test vectors of the webhook signature, for readers who write their own verification. A test checks them. */
export const secret = 'whsec_test_secret'
export const timestamp = 1_700_000_000
export const vectors: readonly (readonly [body: string, v1: string])[] = [
  ['{"a":1,"b":{"c":[1,2,3]}}', '15d79cf9ceb13eb2da9bdf43ed419589bcd491e1a8cee7ff71d4a2aaf7d290f2'],
  ['{"n":12345678901234567890,"f":1.10}', '13a6f8f444ae3df2e098ae0aa8c74d5f188e38996701ef21857a8878a3a907ec'],
]
