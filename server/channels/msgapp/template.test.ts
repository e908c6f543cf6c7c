import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assertCheap } from '../../../tests/cpu.ts'
import type { Template, TemplateParams } from '../channel.ts'
import { describeParams } from '../template-params.ts'
import { fixture } from '../test-http.ts'
import { fillTemplate, previewTemplate } from './template.ts'

const listed = (fixture('msgapp/answers/templates') as { data: (Template & { id: string })[] }).data
const named = (name: string): Template => {
  const { id, ...template } = listed.find((template) => template.name === name) ?? assert.fail(name)
  return { ...template, external_id: id }
}
const made = (components: unknown, parameter_format = 'POSITIONAL'): Template => ({
  ...named('hello_world'),
  components,
  parameter_format,
})
const body = (text: unknown) => ({ type: 'BODY', text })
const text = (text: string) => ({ type: 'text', text })
const button = (sub_type: string, index: string, parameter: unknown) => ({
  type: 'button',
  sub_type,
  index,
  parameters: [parameter],
})
const image = (link: string) => ({ type: 'header', parameters: [{ type: 'image', image: { link } }] })

const filled: [string, TemplateParams, unknown[], string][] = [
  ['hello_world', { body: ['ignored'], headerText: 'ignored' }, [], 'Welcome and congratulations!'],
  [
    'order_confirmed',
    { body: ['Ana', 'A-1', 'ignored'] },
    [{ type: 'body', parameters: [text('Ana'), text('A-1')] }],
    'Hi Ana, your order A-1 is confirmed.',
  ],
  [
    'order_confirmed',
    { body: ['Ana', 'A-1'], bodyNamed: { '2': 'B-2', other: 'ignored' } },
    [{ type: 'body', parameters: [text('Ana'), text('B-2')] }],
    'Hi Ana, your order B-2 is confirmed.',
  ],
  [
    'order_update',
    { body: ['Ana', 'A-1'], buttonParams: { '0': 'A-1?src=wa', '7': 'ignored' } },
    [{ type: 'body', parameters: [text('Ana'), text('A-1')] }, button('url', '0', text('A-1?src=wa'))],
    'Hi Ana, your order A-1 is on its way.',
  ],
  [
    'order_update',
    { body: ['Ana', 'A-1'], buttonParams: { '0': 'x', '1': 'STOP' } },
    [
      { type: 'body', parameters: [text('Ana'), text('A-1')] },
      button('url', '0', text('x')),
      button('quick_reply', '1', { type: 'payload', payload: 'STOP' }),
    ],
    'Hi Ana, your order A-1 is on its way.',
  ],
  [
    'order_code',
    { headerText: 'Ana', body: ['10 %'], buttonParams: { '0': 'SAVE10' } },
    [
      { type: 'header', parameters: [text('Ana')] },
      { type: 'body', parameters: [text('10 %')] },
      button('copy_code', '0', { type: 'coupon_code', coupon_code: 'SAVE10' }),
    ],
    'Take 10 % off your next order.',
  ],
  [
    'appointment',
    { headerMediaUrl: 'https://cdn.example/h.jpg', bodyNamed: { time: '9:00' }, body: ['Ana', 'never'] },
    [
      image('https://cdn.example/h.jpg'),
      {
        type: 'body',
        parameters: [
          { type: 'text', parameter_name: 'name', text: 'Ana' },
          { type: 'text', parameter_name: 'time', text: '9:00' },
        ],
      },
    ],
    'Hello Ana, see you at 9:00.',
  ],
  [
    'offer_carousel',
    {
      body: ['Ana'],
      cards: [
        { headerMediaUrl: 'https://cdn.example/1.jpg', body: ['half price'], buttonParams: { '0': 'p1' } },
        {
          headerMediaId: '155809',
          headerMediaUrl: 'https://unused.example',
          bodyNamed: { '1': 'free' },
          buttonParams: { '0': 'p2' },
        },
        { body: ['a card the template does not have'] },
      ],
    },
    [
      { type: 'body', parameters: [text('Ana')] },
      {
        type: 'carousel',
        cards: [
          {
            card_index: 0,
            components: [
              image('https://cdn.example/1.jpg'),
              { type: 'body', parameters: [text('half price')] },
              button('url', '0', text('p1')),
            ],
          },
          {
            card_index: 1,
            components: [
              { type: 'header', parameters: [{ type: 'image', image: { id: '155809' } }] },
              { type: 'body', parameters: [text('free')] },
              button('url', '0', text('p2')),
            ],
          },
        ],
      },
    ],
    'Offers for Ana',
  ],
  [
    'receipt',
    { headerMediaUrl: 'https://cdn.example/r.pdf', headerFilename: 'receipt.pdf' },
    [
      {
        type: 'header',
        parameters: [{ type: 'document', document: { link: 'https://cdn.example/r.pdf', filename: 'receipt.pdf' } }],
      },
    ],
    'Your receipt.',
  ],
  [
    'where_we_are',
    { headerLocation: { latitude: '19.43', longitude: '-99.13', name: 'HQ' } },
    [
      {
        type: 'header',
        parameters: [{ type: 'location', location: { latitude: '19.43', longitude: '-99.13', name: 'HQ' } }],
      },
    ],
    'Find us here.',
  ],
  [
    'sign_in_code',
    { body: ['123456'] },
    [{ type: 'body', parameters: [text('123456')] }, button('url', '0', text('123456'))],
    '*123456* is your verification code.',
  ],
  ['survey', {}, [], 'Write to us.'],
  [
    'survey',
    { buttonParams: { '0': 'token-1' } },
    [button('flow', '0', { type: 'action', action: { flow_token: 'token-1' } })],
    'Write to us.',
  ],
]

for (const [name, params, components, text] of filled) {
  test(`${name} is filled with ${Object.keys(params).join(', ') || 'nothing'}`, () => {
    const result = fillTemplate(named(name), params)
    assert.ok(result.ok, JSON.stringify(result))
    assert.deepEqual(result.components, components)
    assert.equal(result.text, text)
  })
}

test('what a person reads is the whole template, filled', () => {
  const result = fillTemplate(named('order_code'), {
    headerText: 'Ana',
    body: ['10 %'],
    buttonParams: { '0': 'SAVE10' },
  })
  assert.deepEqual(result.ok && result.content, {
    header: { format: 'TEXT', text: 'For Ana' },
    body: 'Take 10 % off your next order.',
    footer: null,
    buttons: [{ type: 'COPY_CODE', text: 'Copy offer code', code: 'SAVE10' }],
    cards: [],
  })
  const cards = [
    { headerMediaUrl: 'https://cdn.example/1.jpg', body: ['a'], buttonParams: { '0': '1' } },
    { headerMediaId: '2', body: ['b'], buttonParams: { '0': '2' } },
  ]
  const carousel = fillTemplate(named('offer_carousel'), { body: ['Ana'], cards })
  assert.deepEqual(carousel.ok && carousel.content.cards, [
    {
      header: { format: 'IMAGE', url: 'https://cdn.example/1.jpg' },
      body: 'Only today, a.',
      buttons: [
        { type: 'URL', text: 'Open', url: 'https://shop.example/p/1' },
        { type: 'QUICK_REPLY', text: 'More' },
      ],
    },
    {
      header: { format: 'IMAGE', id: '2' },
      body: 'Only today, b.',
      buttons: [
        { type: 'URL', text: 'Open', url: 'https://shop.example/p/2' },
        { type: 'QUICK_REPLY', text: 'More' },
      ],
    },
  ])
})

test('a value that is missing is named as the caller would write it', () => {
  const card = { headerMediaId: '1', body: ['a'], buttonParams: { '0': 'x' } }
  const media = ' (or headerMediaId)'
  const cases: [string, TemplateParams, string][] = [
    ['order_confirmed', {}, 'template.params.body[0]: required'],
    ['order_confirmed', { body: ['Ana'] }, 'template.params.body[1]: required'],
    ['order_confirmed', { body: ['Ana', ''] }, 'template.params.body[1]: required'],
    ['order_update', { body: ['Ana', 'A'] }, 'template.params.buttonParams.0: required'],
    ['order_update', { body: ['Ana', 'A'], buttonParams: { '0': '' } }, 'template.params.buttonParams.0: required'],
    ['order_code', { body: ['1'] }, 'template.params.headerText: required'],
    ['order_code', { body: ['1'], headerText: 'x' }, 'template.params.buttonParams.0: required'],
    ['appointment', { bodyNamed: { name: 'a', time: 'b' } }, `template.params.headerMediaUrl: required${media}`],
    ['appointment', { headerMediaId: '1', body: ['Ana'] }, 'template.params.bodyNamed.time: required'],
    ['where_we_are', {}, 'template.params.headerLocation: required'],
    ['sign_in_code', {}, 'template.params.body[0]: required'],
    ['offer_carousel', { body: ['Ana'] }, `template.params.cards[0].headerMediaUrl: required${media}`],
    ['offer_carousel', { body: ['Ana'], cards: [card] }, `template.params.cards[1].headerMediaUrl: required${media}`],
    [
      'offer_carousel',
      { body: ['Ana'], cards: [card, { ...card, body: [] }] },
      'template.params.cards[1].body[0]: required',
    ],
    [
      'offer_carousel',
      { body: ['Ana'], cards: [card, { ...card, buttonParams: {} }] },
      'template.params.cards[1].buttonParams.0: required',
    ],
    [
      'where_we_are',
      { headerLocation: { latitude: '1', longitude: '' } },
      'template.params.headerLocation.longitude: required',
    ],
  ]
  for (const [name, params, message] of cases) {
    assert.deepEqual(fillTemplate(named(name), params), { ok: false, fault: 'params', message })
  }
})

test('a value that is present but empty, or a URL that is not http or https, is named and nothing stands in for it', () => {
  const url = 'https://cdn.example/1.pdf'
  const card = { headerMediaId: '1', body: ['a'], buttonParams: { '0': 'x' } }
  const place = { latitude: '1', longitude: '2' }
  const http = 'must be an http or https URL'
  const cases: [string, TemplateParams, string][] = [
    ['appointment', { headerMediaId: '1', bodyNamed: { name: '' }, body: ['Ana', '9'] }, 'bodyNamed.name: required'],
    ['appointment', { headerMediaId: '1', body: ['Ana', ''] }, 'body[1]: required'],
    ['order_confirmed', { body: ['Ana', 'A'], bodyNamed: { '2': '' } }, 'bodyNamed.2: required'],
    ['order_code', { headerText: '', body: ['1'], buttonParams: { '0': 'x' } }, 'headerText: required'],
    ['sign_in_code', { body: ['123456'], buttonParams: { '0': '' } }, 'buttonParams.0: required'],
    ['order_update', { body: ['Ana', 'A'], buttonParams: { '0': 'x', '1': '' } }, 'buttonParams.1: must not be empty'],
    ['survey', { buttonParams: { '0': '' } }, 'buttonParams.0: must not be empty'],
    ['receipt', { headerMediaUrl: url, headerFilename: '' }, 'headerFilename: must not be empty'],
    ['receipt', { headerMediaUrl: url, headerMediaId: '' }, 'headerMediaId: must not be empty'],
    ['receipt', { headerMediaUrl: '', headerMediaId: '1' }, 'headerMediaUrl: must not be empty'],
    ['receipt', { headerMediaUrl: 'nope' }, `headerMediaUrl: ${http}`],
    ['receipt', { headerMediaUrl: 'javascript:alert(1)' }, `headerMediaUrl: ${http}`],
    ['where_we_are', { headerLocation: { ...place, name: '' } }, 'headerLocation.name: must not be empty'],
    [
      'offer_carousel',
      { body: ['Ana'], cards: [card, { ...card, headerMediaId: undefined, headerMediaUrl: 'nope' }] },
      `cards[1].headerMediaUrl: ${http}`,
    ],
  ]
  for (const [name, params, message] of cases) {
    const expected = { ok: false, fault: 'params', message: `template.params.${message}` }
    assert.deepEqual(fillTemplate(named(name), params), expected)
  }
  // What the template has no place for is ignored, whatever it is.
  assert.ok(
    fillTemplate(named('hello_world'), { headerMediaUrl: 'nope', headerText: '', buttonParams: { '0': '' } }).ok,
  )
  assert.ok(fillTemplate(named('appointment'), { headerMediaId: '1', headerFilename: '', body: ['Ana', '9', ''] }).ok)
  const preview = previewTemplate(named('receipt'), { headerMediaUrl: 'htt', headerFilename: '' })
  assert.deepEqual(preview.ok && preview.missing, ['headerMediaUrl'])
})

test('the described params of a template have its values and no others, and fill it', () => {
  const described: [string, unknown][] = [
    ['hello_world', {}],
    ['order_confirmed', { body: ['{{1}}', '{{2}}'] }],
    ['order_update', { body: ['{{1}}', '{{2}}'], buttonParams: { '0': '{{1}}' } }],
    ['order_code', { headerText: '{{1}}', body: ['{{1}}'], buttonParams: { '0': '{{1}}' } }],
    ['appointment', { headerMediaUrl: 'https://example.com/file', bodyNamed: { name: '{{name}}', time: '{{time}}' } }],
    ['where_we_are', { headerLocation: { latitude: '{{latitude}}', longitude: '{{longitude}}' } }],
    ['sign_in_code', { body: ['{{1}}'] }],
    ['survey', {}],
    [
      'offer_carousel',
      {
        body: ['{{1}}'],
        cards: Array(2).fill({
          headerMediaUrl: 'https://example.com/file',
          body: ['{{1}}'],
          buttonParams: { '0': '{{1}}' },
        }),
      },
    ],
  ]
  for (const [name, params] of described) {
    assert.deepEqual(describeParams({ previewTemplate }, named(name)), params, name)
    assert.ok(fillTemplate(named(name), params as TemplateParams).ok, name)
  }
  assert.equal(describeParams({ previewTemplate }, made([{ type: 'POEM', verses: ['{{1}}'] }])), null)
  const odd = made([body('{{__proto__}} {{constructor}}')], 'NAMED')
  assert.ok(fillTemplate(odd, describeParams({ previewTemplate }, odd) ?? {}).ok)
})

test('names that every object has are no values', () => {
  const result = fillTemplate(made([body('{{constructor}} {{toString}}')], 'NAMED'), { bodyNamed: {} })
  assert.deepEqual(result, { ok: false, fault: 'params', message: 'template.params.bodyNamed.constructor: required' })
})

test('a stored template that cannot be read is the fault, not the values', () => {
  for (const components of [
    null,
    'BODY',
    { type: 'BODY' },
    [null],
    [{}],
    [body(7)],
    [{ type: 'HEADER', format: 'TEXT' }],
    [{ type: 'HEADER', format: 'HOLOGRAM' }],
    [{ type: 'HEADER', format: 'PRODUCT' }],
    [{ type: 'HEADER', format: 'TEXT', text: '{{1}} {{2}}' }],
    [{ type: 'FOOTER', text: '{{1}}' }],
    [{ type: 'BUTTONS' }],
    [{ type: 'BUTTONS', buttons: [7] }],
    [{ type: 'BUTTONS', buttons: [{ type: 'URL', text: 'Open' }] }],
    [{ type: 'BUTTONS', buttons: [{ type: 'HOLOGRAM', beam: '{{1}}' }] }],
    [{ type: 'CAROUSEL', cards: 2 }],
    [{ type: 'CAROUSEL', cards: [7] }],
    [{ type: 'POEM', verses: ['{{1}}'] }],
    [{ type: 'LIMITED_TIME_OFFER', limited_time_offer: { text: 'Now', has_expiration: true } }],
  ]) {
    const result = fillTemplate(made(components), { body: ['a'], headerText: 'b', buttonParams: { '0': 'c' } })
    assert.ok(!result.ok && result.fault === 'template' && result.message !== '', JSON.stringify(components))
  }
  assert.ok(fillTemplate(made([{ type: 'POEM', verses: ['none'] }, body('x')]), {}).ok)
})

test('a variable that comes twice is one value, and numbers decide the order', () => {
  const result = fillTemplate(made([body('{{2}} {{1}} {{2}} {{ 1 }}')]), { body: ['a', 'b'] })
  assert.ok(result.ok)
  assert.deepEqual(result.components, [{ type: 'body', parameters: [text('a'), text('b')] }])
  assert.equal(result.text, 'b a b a')
})

test('values are taken literally', () => {
  const values = ['{{2}}', "$& $1 $` $'", '{{1}}']
  const result = fillTemplate(made([body('{{1}}|{{2}}|{{3}}')]), { body: values })
  assert.equal(result.ok && result.text, values.join('|'))
})

const names = fc.stringMatching(/^[a-z_]{1,8}$/)
const positions = fc.integer({ min: 1, max: 9 }).map(String)
const literal = fc.string({ unit: fc.constantFrom('a', ' ', '{', '}', '$', '1', 'é') })
const value = fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom('{{1}}', '$&', '{{name}}', '$1'))

/** A text as pieces: what stands there, and variables. */
const pieces = (variables: fc.Arbitrary<string>) =>
  fc.array(fc.record({ before: literal, name: variables }), { maxLength: 6 }).map((parts) => ({
    text: parts.map(({ before, name }) => `${before.replace(/[{}]/g, '')}{{${name}}}`).join(''),
    names: [...new Set(parts.map(({ name }) => name))],
    render: (values: Map<string, string>) =>
      parts.map(({ before, name }) => `${before.replace(/[{}]/g, '')}${values.get(name)}`).join(''),
  }))

const format = fc.constantFrom('POSITIONAL', 'NAMED')
const anyBody = format.chain((format) =>
  fc.record({ format: fc.constant(format), body: pieces(format === 'NAMED' ? names : positions) }),
)

test('every variable is either filled or named as missing, and what is filled is shown', () => {
  fc.assert(
    fc.property(
      anyBody,
      fc.array(value, { maxLength: 9 }),
      fc.boolean(),
      ({ format, body: { text, names, render } }, given, byName) => {
        const order = format === 'NAMED' ? names : [...names].sort((a, b) => Number(a) - Number(b))
        const params = byName
          ? { bodyNamed: Object.fromEntries(order.flatMap((name, i) => (given[i] ? [[name, given[i]]] : []))) }
          : { body: given }
        const result = fillTemplate(made([body(text)], format), params)
        const absent = order.findIndex((_, i) => !given[i])
        if (absent !== -1) {
          const path = format === 'NAMED' ? `bodyNamed.${order[absent]}` : `body[${absent}]`
          assert.deepEqual(result, { ok: false, fault: 'params', message: `template.params.${path}: required` })
          return
        }
        assert.ok(result.ok)
        assert.equal(result.text, render(new Map(order.map((name, i) => [name, given[i] ?? '']))))
        const parameters =
          (result.components[0] as { parameters: Record<string, string>[] } | undefined)?.parameters ?? []
        assert.deepEqual(
          parameters,
          order.map((name, i) => ({
            type: 'text',
            ...(format === 'NAMED' ? { parameter_name: name } : {}),
            text: given[i],
          })),
        )
      },
    ),
    { seed: 1, numRuns: 2_000 },
  )
})

const component: fc.Arbitrary<unknown> = fc.oneof(
  fc.record({
    type: fc.constantFrom('HEADER', 'header'),
    format: fc.constantFrom('TEXT', 'IMAGE', 'VIDEO', 'DOCUMENT', 'LOCATION', 'PRODUCT', 'GIF', 7),
    text: fc.oneof(literal, fc.constantFrom('{{1}}', '{{a}}', null)),
  }),
  fc.record({ type: fc.constant('BODY'), text: fc.oneof(literal, fc.constantFrom('{{1}} {{2}}', '{{a}}', null)) }),
  fc.record({
    type: fc.constant('BUTTONS'),
    buttons: fc.array(
      fc.record({
        type: fc.constantFrom('URL', 'COPY_CODE', 'OTP', 'QUICK_REPLY', 'FLOW', 'MPM', 'CATALOG', 'PHONE_NUMBER'),
        url: fc.constantFrom('https://a.example/{{1}}', 'https://a.example', null),
      }),
      { maxLength: 3 },
    ),
  }),
  fc.jsonValue(),
)

test('any stored template is described with params that fill it, or cannot be filled with any', () => {
  fc.assert(
    fc.property(fc.array(component, { maxLength: 4 }), format, (components, format) => {
      const template = made(components, format)
      const params = describeParams({ previewTemplate }, template)
      const filled = fillTemplate(template, params ?? {})
      assert.equal(filled.ok, params !== null, JSON.stringify(filled))
    }),
    { seed: 3, numRuns: 1_000 },
  )
})

test('any stored template and any values come to an answer, and the missing ones can be supplied one by one', () => {
  const components = fc.oneof(
    fc.array(component, { maxLength: 4 }),
    fc
      .array(component, { maxLength: 3 })
      .map((parts) => [{ type: 'CAROUSEL', cards: [{ components: parts }, { components: parts }] }]),
    fc.jsonValue(),
  )
  fc.assert(
    fc.property(components, format, (components, format) => {
      const params: Record<string, unknown> = {}
      for (let attempt = 0; attempt < 60; attempt++) {
        const result = fillTemplate(made(components, format), params as TemplateParams)
        if (result.ok) {
          assert.equal(typeof result.text, 'string')
          assert.ok(Array.isArray(result.components))
          return
        }
        if (result.fault === 'template') return
        supply(params, result.message)
      }
      assert.fail('it never has enough')
    }),
    { seed: 1, numRuns: 2_000 },
  )
})

/** Put a value where the message says that one is required. */
function supply(params: Record<string, unknown>, message: string): void {
  const [, path = ''] =
    /^template\.params\.(.+): required( \(or headerMediaId\))?$/.exec(message) ?? assert.fail(message)
  const steps = path.replace(/\[(\d+)\]/g, '.$1').split('.')
  if (path.endsWith('headerLocation')) steps.push('latitude')
  let at = params
  for (const [i, step] of steps.slice(0, -1).entries()) {
    at[step] ??= /^\d+$/.test(steps[i + 1] ?? '') && step !== 'buttonParams' ? [] : {}
    at = at[step] as Record<string, unknown>
  }
  const last = steps.at(-1) ?? ''
  assert.equal(at[last], undefined, `${path} was supplied already`)
  at[last] = last === 'headerMediaUrl' ? 'https://x.test/a.png' : 'x'
}

test('a template cannot fill more text than a customer reads, however often it repeats a variable', () => {
  const value = 'x'.repeat(4_096)
  const buttons = { type: 'BUTTONS', buttons: Array(20).fill({ type: 'URL', text: 'Go', url: '{{1}}' }) }
  const buttonParams = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [i, value]))
  for (const [components, params, path] of [
    [[body('{{1}}'.repeat(13_000))], { body: [value] }, 'body'],
    [[{ type: 'HEADER', format: 'TEXT', text: '{{1}}'.repeat(13_000) }], { headerText: value }, 'headerText'],
    [[body('Hello'), buttons], { buttonParams }, 'buttonParams.15'],
  ] as const) {
    const filled = fillTemplate(made(components), params as TemplateParams)
    const rule = 'the texts of the template must have at most 65536 characters with their values'
    assert.deepEqual(filled, { ok: false, fault: 'params', message: `template.params.${path}: ${rule}` })
  }
  assert.ok(fillTemplate(made([body('{{1}}'.repeat(16))]), { body: [value] }).ok)
})

test('a template with more variables than a caller can fill cannot be sent', async () => {
  const textOf = (count: number) => Array.from({ length: count }, (_, i) => `{{a${i}}}`).join('')
  const names = describeParams({ previewTemplate }, made([body(textOf(200))], 'NAMED'))
  assert.equal(Object.keys(names?.bodyNamed ?? {}).length, 200)
  await assertCheap('describing the variables', 100, () => {
    for (let i = 0; i < 10; i++) {
      assert.equal(describeParams({ previewTemplate }, made([body(textOf(8_000))], 'NAMED')), null)
    }
  })
})
