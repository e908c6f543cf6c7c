/** Test data: one definition per trigger and step, and any definition. */
import fc from 'fast-check'
import { type Definition, limits, type Message, type Step, type Trigger } from './definition.ts'

const memberId = '0199c1d2-5a0f-7b29-8c41-2a5e9d7b3c06'
const teamId = '0199c1d2-0000-7000-8000-0000000000c0'

export const text = (value: string): Message => ({ type: 'text', text: value })
export const buttons: Message = {
  type: 'interactive',
  interactive: {
    kind: 'buttons',
    body: 'How can we help?',
    header: 'Acme',
    footer: 'Tap one',
    buttons: [
      { id: 'sales', title: 'Sales' },
      { id: 'support', title: 'Support' },
    ],
  },
}
export const list: Message = {
  type: 'interactive',
  interactive: {
    kind: 'list',
    body: 'Which size?',
    button: 'Sizes',
    sections: [
      { title: 'Small', rows: [{ id: 's', title: 'S', description: 'For children' }] },
      {
        title: 'Large',
        rows: [
          { id: 'l', title: 'L' },
          { id: 'xl', title: 'Extra large' },
        ],
      },
    ],
  },
}

export const triggers: readonly Trigger[] = [
  { type: 'message' },
  { type: 'message', when: 'any' },
  { type: 'message', when: 'first' },
  {
    ...{ type: 'message', when: 'first_since_closed', contains: ['price', 'how much'], button: 'prices' },
    content_types: ['text', 'button'],
  },
  { type: 'conversation', event: 'opened' },
  { type: 'conversation', event: 'closed' },
  { type: 'conversation', event: 'assigned' },
  { type: 'conversation', event: 'label_added', label: 'Refund' },
  { type: 'conversation', event: 'label_removed' },
  { type: 'contact', event: 'created' },
  { type: 'contact', event: 'tag_added', tag: 'VIP' },
  { type: 'contact', event: 'tag_removed' },
  { type: 'contact', event: 'attribute_changed', attribute: 'plan' },
  { type: 'silence', event: 'waiting', after: '30m' },
  { type: 'silence', event: 'no_reply', after: '30d' },
  { type: 'silence', event: 'window_ends', after: '1m' },
  { type: 'rating' },
  { type: 'rating', at_most: 2 },
  { type: 'manual' },
]

export const messages: readonly Message[] = [
  text('Hello {{contact.name|there}}'),
  buttons,
  list,
  { type: 'interactive', interactive: { kind: 'link', body: 'Our shop', text: 'Open', url: 'https://shop.test/' } },
  { type: 'image', media_url: 'https://shop.test/a.png', text: 'A caption' },
  { type: 'video', media_url: 'https://shop.test/a.mp4' },
  { type: 'audio', media_url: 'https://shop.test/a.ogg' },
  { type: 'document', media_url: 'https://shop.test/a.pdf', text: 'Terms', filename: 'terms.pdf' },
  { type: 'location', location: { latitude: 52.5, longitude: 13.4, name: 'Shop', address: 'Main street 1' } },
  { type: 'template', template: { name: 'welcome' } },
  { type: 'template', template: { name: 'welcome', language: 'de', params: ['{{contact.name|there}}'] } },
  {
    type: 'template',
    template: { name: 'order', language: 'en_US', params: { body: ['A-1'], bodyNamed: { '1': 'a', x: 'b' } } },
  },
]

const isVip = { match: 'all' as const, rules: [{ field: 'tag', op: 'has', value: 'VIP' }] }

export const steps: readonly Step[] = [
  ...messages.map((message): Step => ({ type: 'send', message })),
  { type: 'send', message: text('Hello'), on_error: [{ type: 'note', text: 'Not sent' }] },
  { type: 'ask', message: text('Your name?'), answer: { type: 'text' }, save_as: 'contact.attributes.full_name' },
  {
    ...{
      type: 'ask',
      message: text('How many?'),
      answer: { type: 'number', min: 1, max: 9.5 },
      save_as: 'answers.count',
    },
    retries: { max: 2, text: 'A number, please.' },
    timeout: { after: '1d', steps: [{ type: 'end' }] },
    on_error: [],
  },
  { type: 'ask', message: text('Email?'), answer: { type: 'email' }, save_as: 'answers.email' },
  { type: 'ask', message: text('When?'), answer: { type: 'date' }, save_as: 'answers.day' },
  { type: 'ask', message: buttons, answer: { type: 'choice' }, save_as: 'answers.topic' },
  { type: 'ask', message: list, answer: { type: 'choice' }, save_as: 'answers.size' },
  {
    type: 'branch',
    cases: [
      { name: 'VIP', when: isVip, steps: [{ type: 'note', text: 'A VIP' }] },
      {
        when: {
          match: 'any',
          rules: [
            { field: 'assignee', op: 'is_not_set' },
            { field: 'team', op: 'is', value: teamId },
            { match: 'all', rules: [{ field: 'label', op: 'not_has', value: 'Refund' }] },
          ],
        },
        steps: [],
      },
    ],
    otherwise: [{ type: 'wait', for: '10s' }],
  },
  { type: 'wait', for: '90d' },
  { type: 'wait', until: 'opening' },
  {
    ...{
      type: 'set',
      status: 'pending',
      assigned_agent_id: memberId,
      assigned_team_id: teamId,
      snooze_for: '2h',
      add_labels: ['Refund', 'Urgent'],
    },
    ...{ remove_labels: ['New'], add_tags: ['VIP'], remove_tags: ['Lead'] },
    attributes: { plan: 'pro', orders: 3, is_member: true, city: null },
  },
  { type: 'set', assigned_agent_id: null },
  { type: 'set', assigned_team_id: null },
  { type: 'note', text: 'Written by {{contact.email|an unknown person}}' },
  { type: 'call', url: 'https://shop.test/orders' },
  { type: 'call', url: 'https://shop.test/orders', save_as: 'answers.order', on_error: [{ type: 'hand_over' }] },
  { type: 'hand_over' },
  { type: 'hand_over', assigned_agent_id: memberId, assigned_team_id: teamId, note: 'Please call.' },
  { type: 'end' },
]

const isEnd = ({ type }: Step): boolean => type === 'end' || type === 'hand_over'
const chosen = fc.constantFrom(...steps.filter((step) => !isEnd(step) && step.type !== 'branch'))

const isOfAnswer = fc.constantFrom(
  { field: 'message.text', op: 'contains', value: 'refund' },
  { field: 'status', op: 'is', value: 'open' },
  { field: 'attributes.plan', op: 'is_set' },
  { field: 'hours', op: 'is', value: 'closed' },
)
const filter = fc.record({
  match: fc.constantFrom('all' as const, 'any' as const),
  rules: fc.array(isOfAnswer, { minLength: 1, maxLength: 3 }),
})

/** Steps of at most `depth` further levels. Only the last one of a list may end the run. */
function stepsOf(depth: number): fc.Arbitrary<Step[]> {
  const inner = depth > 0 ? stepsOf(depth - 1) : fc.constant<Step[]>([])
  const branch = fc.record({
    type: fc.constant('branch' as const),
    cases: fc.array(fc.record({ when: filter, steps: inner }), { minLength: 1, maxLength: 2 }),
  })
  const ask = fc.record({
    type: fc.constant('ask' as const),
    message: fc.constant(buttons),
    answer: fc.constant({ type: 'choice' as const }),
    save_as: fc.constant('answers.topic'),
    timeout: fc.record({ after: fc.constant('1h'), steps: inner }),
    on_error: inner,
  })
  const last = fc.option(fc.constantFrom<Step>({ type: 'end' }, { type: 'hand_over' }), { nil: undefined })
  const list = fc.array(depth > 0 ? fc.oneof(chosen, branch, ask) : chosen, { maxLength: 3 })
  return fc.tuple(list, last).map(([list, last]): Step[] => (last ? [...list, last] : list))
}

/** A definition that the service accepts. */
export const anyDefinition: fc.Arbitrary<Definition> = fc
  .record({ trigger: fc.constantFrom(...triggers), steps: stepsOf(2) })
  .map(({ trigger, steps }) => ({ trigger, steps: steps.length > 0 ? steps : [{ type: 'end' }] }) as Definition)
  .filter((definition) => JSON.stringify(definition).length < limits.bytes)
