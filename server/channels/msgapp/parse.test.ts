import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AccountSignal, Person, Report, TemplateChanges, WrittenMessage } from '../channel.ts'
import { connectionOf, fixture } from '../test-http.ts'
import { parse } from './parse.ts'

const connection = connectionOf('msgapp')
const at = '2025-06-15T15:06:40.000Z'
const ana: Person = { phone: '+5215512345678', user_id: 'MX.13491208655302741918', name: 'Ana Ruiz', username: 'ana.r' }
const unnamed = (phone: string | null, user_id: string | null = null): Person => ({
  phone,
  user_id,
  name: null,
  username: null,
})

const written = (external_id: string, said: Partial<WrittenMessage>): WrittenMessage => ({
  external_id,
  at,
  content_type: 'text',
  content_text: null,
  media: null,
  reply_to: null,
  interactive_reply_id: null,
  content: null,
  ...said,
})
const message = (id: string, said: Partial<WrittenMessage>, from = ana): Report => ({
  kind: 'message',
  from,
  ...written(`wamid.IN.${id}`, said),
})
const media = (id: string, mime_type: string, filename: string | null = null) => ({
  id,
  url: `https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid=${id}&ext=1750000300&hash=AQ`,
  mime_type,
  filename,
})
const status = (status: 'sent' | 'delivered' | 'read' | 'failed', changes = {}): Report => ({
  kind: 'status',
  external_id: 'wamid.OUT.1',
  message_id: '019770a0-0000-7000-8000-000000000001',
  status,
  at,
  error: null,
  recipient: ana,
  ...changes,
})
const ignored = (reason: string): Report => ({ kind: 'ignored', reason })
const malformed = (reason: string): Report => ({ kind: 'malformed', reason })
const foreign = (id: string | null, shown: string, reason: string): Report => ({
  ...{ kind: 'foreign', key: 'foreign:999', hasMessages: true },
  ...{ id, shown, reason },
})
const signal = (
  key: string,
  severity: AccountSignal['severity'],
  text: string,
  more: Partial<AccountSignal> = {},
): Report => ({
  kind: 'signal',
  key,
  severity,
  text,
  at,
  expires_at: null,
  ...more,
})
const template = (changes: TemplateChanges): Report => ({
  kind: 'template',
  name: 'order_update',
  language: 'es_MX',
  changes,
})
const newUserId = 'MX.22222222222222222222'

const expected: Record<string, Report[]> = {
  text: [message('text', { content_text: '¿Tienen café? ☕' })],
  'text-reply': [message('reply', { content_text: 'yes, that one', reply_to: 'wamid.OUT.1' })],
  'text-forwarded': [message('forwarded', { content_text: 'look', content: { forwarded: true } })],
  'text-from-ad': [
    message('ad', {
      content_text: 'Is this available?',
      content: {
        referral: {
          source_url: 'https://fb.me/3cr4Wqqkv',
          source_id: '120226305854810726',
          source_type: 'ad',
          headline: 'Chat with us',
          body: 'Summer succulents are here!',
          media_type: 'image',
          image_url: 'https://scontent.example/1.jpg',
          ctwa_clid: 'Aff-n8ZTODiE79d22KtAwQKj9e',
          welcome_message: { text: 'Hi! How can we help?' },
        },
      },
    }),
  ],
  'text-about-product': [
    message('product', {
      content_text: 'How much?',
      reply_to: 'wamid.OUT.1',
      content: { referred_product: { catalog_id: '194836987003835', product_retailer_id: 'di9ozbzfi4' } },
    }),
  ],
  image: [
    message('image', {
      content_type: 'image',
      content_text: 'Front view',
      media: media('1003383421387256', 'image/jpeg'),
    }),
  ],
  video: [message('video', { content_type: 'video', media: media('1003383421387257', 'video/mp4') })],
  audio: [
    message('audio', {
      content_type: 'audio',
      media: media('1003383421387258', 'audio/ogg; codecs=opus'),
      content: { voice: true },
    }),
  ],
  document: [
    message('document', {
      content_type: 'document',
      content_text: 'The receipt',
      media: media('1003383421387259', 'application/pdf', 'r.pdf'),
      content: { filename: 'r.pdf' },
    }),
  ],
  sticker: [
    message('sticker', {
      content_type: 'sticker',
      media: media('1003383421387260', 'image/webp'),
      content: { animated: true },
    }),
  ],
  'media-failed': [
    message('failed', {
      content_type: 'unsupported',
      content: {
        type: 'image',
        errors: [
          {
            code: 131052,
            title: 'Media download error',
            message: 'Media download error',
            error_data: { details: 'Failed to download the media from the sender.' },
          },
        ],
      },
    }),
  ],
  location: [
    message('location', {
      content_type: 'location',
      content_text: 'Café Ruiz, Av. Juárez 1, CDMX',
      content: {
        location: {
          latitude: 19.43,
          longitude: -99.13,
          name: 'Café Ruiz',
          address: 'Av. Juárez 1, CDMX',
          url: 'https://foursquare.example/v/1',
        },
      },
    }),
  ],
  'location-bare': [
    message('bare', {
      content_type: 'location',
      content_text: '19.43, -99.13',
      content: { location: { latitude: 19.43, longitude: -99.13 } },
    }),
  ],
  contacts: [
    message('contacts', {
      content_type: 'contacts',
      content_text: 'Luis Ruiz, Eva Paz',
      content: {
        contacts: [
          {
            name: { formatted_name: 'Luis Ruiz', first_name: 'Luis' },
            phones: [{ phone: '+52 55 1111 2222', wa_id: '525511112222', type: 'MOBILE' }],
          },
          { name: { first_name: 'Eva', last_name: 'Paz' }, phones: [] },
        ],
      },
    }),
  ],
  'button-reply': [
    message('tap', {
      content_type: 'interactive',
      content_text: 'Yes',
      interactive_reply_id: 'yes-42',
      reply_to: 'wamid.OUT.1',
    }),
  ],
  'list-reply': [
    message('row', {
      content_type: 'interactive',
      content_text: '09:00',
      interactive_reply_id: 'm9',
      reply_to: 'wamid.OUT.1',
      content: { description: '30 min' },
    }),
  ],
  'form-reply': [
    message('form', {
      content_type: 'interactive',
      content_text: 'Sent',
      reply_to: 'wamid.OUT.1',
      content: { form: { name: 'flow', response: { flow_token: 't1', size: 'L' } } },
    }),
  ],
  'call-permission-reply': [
    message('call', {
      content_type: 'unsupported',
      content: {
        type: 'interactive',
        interactive: {
          type: 'call_permission_reply',
          call_permission_reply: {
            response: 'accept',
            expiration_timestamp: 1750600000,
            response_source: 'user_action',
          },
        },
      },
    }),
  ],
  'template-button': [
    message('button', {
      content_type: 'button',
      content_text: 'Stop',
      interactive_reply_id: 'STOP_PROMO',
      reply_to: 'wamid.OUT.template',
    }),
  ],
  reaction: [message('reaction', { content_type: 'reaction', content_text: '👍', reply_to: 'wamid.OUT.1' })],
  'reaction-removed': [message('unreact', { content_type: 'reaction', reply_to: 'wamid.OUT.1' })],
  order: [
    message('order', {
      content_type: 'unsupported',
      content: {
        type: 'order',
        order: {
          catalog_id: '194836987003835',
          text: '',
          product_items: [{ product_retailer_id: 'sku', quantity: 2, item_price: 30, currency: 'USD' }],
        },
      },
    }),
  ],
  unsupported: [
    message('unsupported', {
      content_type: 'unsupported',
      content: {
        type: 'unsupported',
        unsupported: { type: 'poll_creation' },
        errors: [
          {
            code: 131051,
            title: 'Message type unknown',
            message: 'Message type unknown',
            error_data: { details: 'Message type is currently not supported.' },
          },
        ],
      },
    }),
  ],
  'unknown-type': [
    message('hologram', { content_type: 'unsupported', content: { type: 'hologram', hologram: { depth: 3 } } }),
  ],
  edit: [{ kind: 'edit', from: ana, external_id: 'wamid.IN.text', text: 'fixed', at }],
  'edit-caption': [{ kind: 'edit', from: ana, external_id: 'wamid.IN.image', text: 'Back view', at }],
  revoke: [{ kind: 'revoke', from: ana, external_id: 'wamid.IN.text', at }],
  'request-welcome': [
    message('request_welcome', { content_type: 'unsupported', content: { type: 'request_welcome' } }),
  ],
  'in-a-group': [
    message('group', {
      content_type: 'unsupported',
      content: {
        type: 'text',
        group_id: 'Y2FwaV9ncm91cDoxNzA1NTU1MDEzOToxMjAzNjM0MDQ2OTQyMzM4MjAZD',
        text: { body: 'hi all' },
      },
    }),
  ],
  standby: [message('text', { content_text: '¿Tienen café? ☕' })],
  call: [
    {
      kind: 'message',
      from: ana,
      ...written('wacid.HBgLMTIxODU1NTI4MjgVAgASGCAyODRCQUIx', {
        content_type: 'unsupported',
        content: { type: 'call', call: { event: 'connect', direction: 'USER_INITIATED' } },
      }),
    },
  ],
  'number-changed': [{ kind: 'moved', from: unnamed('+5215512345678'), to: unnamed('+5215587654321'), at }],
  'number-changed-old': [{ kind: 'moved', from: unnamed('+5215512345678'), to: unnamed('+5215587654321'), at }],
  'user-id-changed': [
    { kind: 'moved', from: unnamed(ana.phone, ana.user_id), to: unnamed('+5215587654321', newUserId), at },
  ],
  'user-id-update': [{ kind: 'moved', from: unnamed(null, ana.user_id), to: unnamed('+5215587654321', newUserId), at }],
  'identity-changed': [ignored('a system message: "customer_identity_changed"')],
  'without-number': [message('nonumber', { content_text: 'hi' }, { ...ana, phone: null })],
  'status-sent': [status('sent', { recipient: { ...ana, username: null } })],
  'status-delivered': [status('delivered')],
  'status-read': [status('read')],
  'status-played': [status('read')],
  'status-failed': [
    status('failed', {
      recipient: unnamed('+5215512345678'),
      error:
        '131047: Re-engagement message. Message failed to send because more than 24 hours have passed since the customer last replied to this number.',
    }),
  ],
  'status-unknown': [ignored('a status we do not know: "deleted"')],
  'status-of-another': [status('delivered', { message_id: null, recipient: null })],
  'template-status': [
    template({ status: 'PAUSED', status_reason: 'Paused for 3 hours.' }),
    signal(
      'template_status:order_update:es_MX',
      'warning',
      'Template order_update (es_MX) is paused at the provider. Paused for 3 hours.',
    ),
  ],
  'template-reinstated': [
    template({ status: 'APPROVED', status_reason: null }),
    signal(
      'template_status:order_update:es_MX',
      'resolved',
      'Template order_update (es_MX) is approved at the provider.',
    ),
  ],
  'template-quality': [
    template({ quality: 'YELLOW' }),
    signal(
      'template_quality:order_update:es_MX',
      'warning',
      'Quality of template order_update (es_MX) is medium. The provider may pause it.',
    ),
  ],
  'template-category': [
    template({ category: 'MARKETING' }),
    signal(
      'template_category:order_update:es_MX',
      'warning',
      'The provider changed the category of template order_update (es_MX) to marketing. Its price may change.',
    ),
  ],
  'template-category-soon': [
    template({ category: 'UTILITY' }),
    signal(
      'template_category:order_update:es_MX',
      'warning',
      'The provider will change the category of template order_update (es_MX) to marketing. Its price may change.',
    ),
  ],
  preference: [
    { kind: 'preference', from: unnamed(ana.phone, ana.user_id), wants: 'stop', at },
    { kind: 'preference', from: unnamed(ana.phone), wants: 'resume', at: '2025-06-15T15:07:40.000Z' },
  ],
  echo: [{ kind: 'echo', to: unnamed(ana.phone), ...written('wamid.ECHO.1', { content_text: 'I am on my way' }) }],
  'account-error': [
    signal(
      'error:130429',
      'warning',
      'The provider reported an error. 130429: Rate limit hit. Message failed to send because there were too many messages sent from this phone number in a short period of time',
    ),
  ],
  'user-action': [ignored('a change with neither messages nor statuses')],
  'number-quality': [
    signal('number_quality:+15550001111', 'info', 'The provider raised the throughput of +15550001111. Limit: none.'),
  ],
  'number-flagged': [
    signal(
      'number_quality:+15550001111',
      'warning',
      'The provider lowered the sending limit of +15550001111. Limit: 1,000 customers in 24 hours.',
    ),
  ],
  'number-name': [
    signal(
      'number_name:+15550001111',
      'warning',
      'Display name “Ruiz & Co” of +15550001111: rejected (name employee).',
    ),
  ],
  'account-restricted': [
    signal(
      'account_restriction',
      'restriction',
      'The provider restricted this account: it cannot start conversations.',
      { expires_at: '2025-06-22T13:46:40.000Z' },
    ),
  ],
  'account-banned': [signal('account_ban', 'restriction', 'The provider will disable this account on June 20, 2025.')],
  'account-reinstated': [signal('account_ban', 'info', 'The provider reinstated this account.')],
  'account-violation': [signal('account_violation', 'warning', 'The provider found a policy violation: adult.')],
  'account-verified': [ignored('an unknown account update: "VERIFIED_ACCOUNT"')],
  'account-alert': [
    signal(
      'alert:INCREASED_CAPABILITIES_ELIGIBILITY_NEED_MORE_INFO',
      'warning',
      'More information is needed to raise the messaging limit.',
    ),
  ],
  'account-review': [signal('account_review', 'restriction', 'Review of this account by the provider: rejected.')],
  history: [signal('history', 'info', 'The provider sent the chat history of the phone app. It is not imported.')],
  'another-number': [
    foreign('999', '+15550001111', 'this number is not connected'),
    ignored('messages for +15550001111: this number is not connected'),
  ],
  batch: [
    message('b1', { content_text: 'one' }),
    message('b2', { content_text: 'two' }, { ...unnamed('+525511112222'), name: 'Luis' }),
    malformed('a message without a usable sender: 7'),
    status('delivered'),
    foreign('106540352242922', 'account 999', 'this connection is for account 102290129340398'),
    ignored('messages for account 999: this connection is for account 102290129340398'),
    status('read', { recipient: unnamed(ana.phone, ana.user_id) }),
  ],
}

for (const [name, reports] of Object.entries(expected)) {
  test(`msgapp reads ${name}`, (t) => {
    // What the provider gives no time for has ours.
    t.mock.timers.enable({ apis: ['Date'], now: Date.parse(at) })
    assert.deepEqual(parse(connection, fixture(`msgapp/${name}`)), reports)
  })
}

const one = (message: Record<string, unknown>, contacts?: unknown) => {
  const [report] = parse(connection, {
    entry: [
      {
        changes: [
          {
            field: 'messages',
            value: {
              contacts,
              messages: [
                {
                  from: '15550100',
                  id: 'wamid.1',
                  timestamp: '1750000000',
                  type: 'text',
                  text: { body: 'hi' },
                  ...message,
                },
              ],
            },
          },
        ],
      },
    ],
  })
  return report
}

test('a time that cannot be is the time of reading', () => {
  for (const timestamp of ['soon', '', '-1', '0', '1230000000', '99999999999999999', 1e300, null, {}, undefined]) {
    const report = one({ timestamp })
    assert.ok(report?.kind === 'message' && Math.abs(Date.parse(report.at) - Date.now()) < 5_000, String(report))
  }
  const inTwoDays = Math.round(Date.now() / 1000) + 2 * 86_400
  const report = one({ timestamp: inTwoDays })
  assert.ok(report?.kind === 'message' && Date.parse(report.at) < Date.now() + 1_000)
  assert.equal((one({ timestamp: 1750000000 }) as { at: string }).at, at)
})

test('text that cannot be stored is repaired, long text is cut, and never within a character', () => {
  const textOf = (body: string) => (one({ text: { body } }) as { content_text: string }).content_text
  assert.equal(textOf('a\0b\ud800c'), 'ab\ufffdc')
  assert.equal(textOf('x'.repeat(70_000)).length, 65_536)
  assert.equal(textOf(`${'x'.repeat(65_535)}🙂`), 'x'.repeat(65_535))
  const named = one({}, [{ wa_id: '15550100', profile: { name: '🙂'.repeat(400) } }])
  assert.equal((named as { from: Person }).from.name, '🙂'.repeat(250))
})

test('a message without a usable id gets one, the same whenever it is repeated', () => {
  const idOf = (message: Record<string, unknown>) => (one(message) as { external_id: string }).external_id
  for (const id of ['', 7, null, {}, 'x'.repeat(513), 'a\0b', '\ud800', undefined]) {
    assert.match(idOf({ id }), /^derived:[0-9a-f]{64}$/)
    assert.equal(idOf({ id }), idOf({ id }))
    assert.notEqual(idOf({ id }), idOf({ id, timestamp: '1750000001' }))
  }
})

test('a message without a usable sender is malformed, unless the only contact says who it is', () => {
  assert.equal(one({ from: undefined })?.kind, 'malformed')
  assert.equal(one({ from: 'Ana' })?.kind, 'malformed')
  const from = (one({ from: undefined }, [{ wa_id: '15550100', user_id: 'US.1' }]) as { from: Person }).from
  assert.deepEqual(from, unnamed('+15550100', 'US.1'))
  const instead = (one({ from: 'US.123' }) as { from: Person }).from
  assert.deepEqual(instead, unnamed(null, 'US.123'))
})

test('what cannot be read is unsupported with its parts, without what opens only with the token', () => {
  const errors = [{ code: 131052 }]
  const shapes: [Record<string, unknown>, Record<string, unknown>][] = [
    [
      { type: 'text', text: { body: 5 } },
      { type: 'text', text: { body: 5 } },
    ],
    [{ type: undefined, text: { body: 'hi' } }, { text: { body: 'hi' } }],
    [
      { type: 'image', image: { id: 5, sha256: 'x', url: '', caption: 'Front' }, errors },
      { type: 'image', image: { caption: 'Front' }, errors },
    ],
    [
      { type: 'hologram', hologram: { file: { id: '5', mime_type: 'model/gltf', url: 'https://x.test' } } },
      { type: 'hologram', hologram: { file: { mime_type: 'model/gltf' } } },
    ],
    [
      { type: 'location', location: { latitude: 'x' } },
      { type: 'location', location: { latitude: 'x' } },
    ],
    [
      { type: 'contacts', contacts: [] },
      { type: 'contacts', contacts: [] },
    ],
    [
      { type: 'interactive', interactive: { type: 'button_reply' } },
      { type: 'interactive', interactive: { type: 'button_reply' } },
    ],
    [{ type: 'interactive' }, { type: 'interactive' }],
    [{ type: 'button', button: null }, { type: 'button' }],
    [
      { type: 'reaction', reaction: { message_id: 7, emoji: '👍' } },
      { type: 'reaction', reaction: { message_id: 7, emoji: '👍' } },
    ],
    [
      { type: 'edit', edit: { message: { type: 'text' } } },
      { type: 'edit', edit: { message: { type: 'text' } } },
    ],
    [
      { type: 'revoke', revoke: {} },
      { type: 'revoke', revoke: {} },
    ],
  ]
  for (const [shape, content] of shapes) {
    const report = one({ text: undefined, ...shape })
    assert.ok(report?.kind === 'message', String(shape.type))
    assert.deepEqual([report.content_type, report.content_text, report.content], ['unsupported', null, content])
  }
})

test('a call of the business, or of no known person, is no message', () => {
  const callback = (call: Record<string, unknown>) =>
    parse(connection, { entry: [{ changes: [{ field: 'calls', value: { calls: [{ id: 'c', ...call }] } }] }] })[0]
  assert.equal(callback({ from: '15550100', direction: 'BUSINESS_INITIATED' })?.kind, 'ignored')
  assert.equal(callback({})?.kind, 'malformed')
  assert.equal(callback({ from: '15550100' })?.kind, 'message')
})

test('values whose own methods lie do no harm', () => {
  const liar = { toString: 1, valueOf: 1, toJSON: 1, constructor: 1, __proto__: null }
  for (const place of ['id', 'from', 'type', 'timestamp', 'text', 'context', 'errors']) one({ [place]: liar })
  parse(connection, {
    entry: [{ id: liar, changes: [{ field: liar, value: { metadata: { phone_number_id: liar } } }] }],
  })
  assert.equal(one({ type: 'constructor' })?.kind, 'message')
})
