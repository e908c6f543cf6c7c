/** Test data: definitions with one fault, each with the message that its caller gets. */
import { text } from './test-definitions.ts'

export const withSteps = (...list: unknown[]) => ({ trigger: { type: 'message' }, steps: list })
export const withTrigger = (trigger: unknown) => ({ trigger, steps: [{ type: 'end' }] })
const send = (message: unknown) => withSteps({ type: 'send', message })
export const say = (value: string) => ({ type: 'send', message: text(value) })
export const ask = (change: object) => ({
  type: 'ask',
  message: text('?'),
  answer: { type: 'text' },
  save_as: 'answers.a',
  ...change,
})
export const branch = (rule: unknown, list: unknown[] = []) => ({
  type: 'branch',
  cases: [{ when: { match: 'all', rules: [rule] }, steps: list }],
})
export const isOpen = { field: 'status', op: 'is', value: 'open' }

/** Steps within steps, `levels` deep. */
export const nest = (levels: number): unknown[] =>
  levels === 1 ? [{ type: 'end' }] : [branch(isOpen, nest(levels - 1))]
export const many = (count: number, item: unknown = { type: 'wait', for: '1m' }) =>
  Array.from({ length: count }, () => item)

const nameRule = 'a name has 1 to 40 characters of a-z, 0-9 and _, and begins with a letter'
const stepTypes = 'send, ask, branch, wait, set, note, call, hand_over, end'
const durationRule = 'must be a whole number and a unit, such as 30s, 5m, 2h or 3d'
const contactRule = 'use one of name, phone, email, company, attributes.NAME'

export const malformed: readonly [unknown, string][] = [
  // The definition.
  [undefined, 'definition: must be an object'],
  [null, 'definition: must be an object'],
  ['text', 'definition: must be an object'],
  [[], 'definition: must be an object'],
  [{}, 'trigger: required'],
  [{ trigger: { type: 'manual' } }, 'steps: required'],
  [{ trigger: { type: 'manual' }, steps: [] }, 'steps: must have at least 1 item'],
  [{ trigger: { type: 'manual' }, steps: {} }, 'steps: must be an array'],
  [{ trigger: { type: 'manual' }, stesp: [] }, 'stesp: unknown field; did you mean steps'],
  [{ triggers: [], steps: [] }, 'triggers: unknown field; did you mean trigger'],
  [{ ...withSteps({ type: 'end' }), name: 'x' }, 'name: unknown field; use trigger, conditions, steps'],
  [{ ...withSteps({ type: 'end' }), 'a b': 1 }, 'definition: has an unknown field; use trigger, conditions, steps'],
  [JSON.parse('{"__proto__": 1}'), '__proto__: unknown field; use trigger, conditions, steps'],
  [withSteps(...many(201)), 'steps: must have at most 200 items'],
  [withSteps(...many(150), branch(isOpen, many(60))), 'steps: must have at most 200 steps on all levels'],
  [withSteps(...nest(9)), `steps[0]${'.cases[0].steps[0]'.repeat(7)}.cases[0].steps: nested more than 8 levels deep`],
  [withSteps(...many(9, say('x'.repeat(4096)))), 'definition: must have at most 32768 bytes as JSON'],
  // Triggers.
  [withTrigger('message'), 'trigger: must be an object'],
  [withTrigger({}), 'trigger.type: required'],
  [
    withTrigger({ type: 'mesage' }),
    'trigger.type: must be one of message, conversation, contact, silence, target, rating, manual',
  ],
  [withTrigger({ type: 'message', when: 'once' }), 'trigger.when: must be one of any, first, first_since_closed'],
  [withTrigger({ type: 'message', contains: [] }), 'trigger.contains: must have at least 1 item'],
  [withTrigger({ type: 'message', contains: 'a' }), 'trigger.contains: must be an array'],
  [
    withTrigger({ type: 'message', contains: ['a', ' '] }),
    'trigger.contains[1]: must have a letter, a digit or a symbol',
  ],
  [
    withTrigger({ type: 'message', contains: ['x'.repeat(101)] }),
    'trigger.contains[0]: must have at most 100 characters',
  ],
  [withTrigger({ type: 'message', contains: many(51, 'a') }), 'trigger.contains: must have at most 50 items'],
  [withTrigger({ type: 'message', button: '' }), 'trigger.button: must not be empty'],
  [withTrigger({ type: 'message', button: 'a\0' }), 'trigger.button: contains a character that is not text'],
  [
    withTrigger({ type: 'message', content_types: ['picture'] }),
    'trigger.content_types[0]: must be one of text, image, video, audio, document, sticker, location, contacts, interactive, button, reaction, template, unsupported',
  ],
  [
    withTrigger({ type: 'message', label: 'x' }),
    'trigger.label: unknown field; use type, when, contains, button, content_types',
  ],
  [withTrigger({ type: 'conversation' }), 'trigger.event: required'],
  [
    withTrigger({ type: 'conversation', event: 'reopened' }),
    'trigger.event: must be one of opened, closed, assigned, label_added, label_removed',
  ],
  [
    withTrigger({ type: 'conversation', event: 'opened', label: 'x' }),
    'trigger.label: only for the events label_added and label_removed',
  ],
  [withTrigger({ type: 'conversation', event: 'label_added', label: ' ' }), 'trigger.label: must not be blank'],
  [
    withTrigger({ type: 'contact', event: 'created', tag: 'x' }),
    'trigger.tag: only for the events tag_added and tag_removed',
  ],
  [
    withTrigger({ type: 'contact', event: 'tag_added', attribute: 'x' }),
    'trigger.attribute: only for the event attribute_changed',
  ],
  [withTrigger({ type: 'contact', event: 'attribute_changed', attribute: 'A b' }), `trigger.attribute: ${nameRule}`],
  [withTrigger({ type: 'silence', event: 'waiting' }), 'trigger.after: required'],
  [withTrigger({ type: 'silence', event: 'waiting', after: 60 }), 'trigger.after: must be a string'],
  [withTrigger({ type: 'silence', event: 'waiting', after: '1.5h' }), `trigger.after: ${durationRule}`],
  [withTrigger({ type: 'silence', event: 'waiting', after: '59s' }), 'trigger.after: must be 1m to 30d'],
  [withTrigger({ type: 'silence', event: 'no_reply', after: '31d' }), 'trigger.after: must be 1m to 30d'],
  [withTrigger({ type: 'rating', at_most: 0 }), 'trigger.at_most: must be at least 1'],
  [withTrigger({ type: 'rating', at_most: 6 }), 'trigger.at_most: must be at most 5'],
  [withTrigger({ type: 'rating', at_most: 1.5 }), 'trigger.at_most: must be a whole number'],
  // Conditions.
  [{ ...withTrigger({ type: 'manual' }), conditions: {} }, 'conditions.match: required'],
  [
    { ...withTrigger({ type: 'manual' }), conditions: { match: 'all', rules: [] } },
    'conditions.rules: must have at least 1 item',
  ],
  [
    {
      ...withTrigger({ type: 'manual' }),
      conditions: { match: 'all', rules: [{ field: 'tag', op: 'is', value: 'a' }] },
    },
    'conditions.rules[0].op: unknown for tag; use one of has, not_has',
  ],
  [
    {
      ...withTrigger({ type: 'manual' }),
      conditions: { match: 'all', rules: [{ field: 'message.text', op: 'is_set' }] },
    },
    'conditions.rules[0].field: only an automation that a message starts has message.text',
  ],
  [
    {
      ...withTrigger({ type: 'message' }),
      conditions: { match: 'all', rules: [{ field: 'answers.a', op: 'is_set' }] },
    },
    'conditions.rules[0].field: there are no answers before the first step; use a branch',
  ],
  // Steps.
  [withSteps('end'), 'steps[0]: must be an object'],
  [withSteps({}), 'steps[0].type: required'],
  [withSteps({ type: 'sned' }), `steps[0].type: must be one of ${stepTypes}`],
  [withSteps({ type: 'constructor' }), `steps[0].type: must be one of ${stepTypes}`],
  [withSteps({ type: 'send', mesage: {} }), 'steps[0].mesage: unknown field; did you mean message'],
  [withSteps({ type: 'send' }), 'steps[0].message: required'],
  [withSteps({ type: 'end' }, { type: 'end' }), 'steps[1]: never runs, because the step before ends the run'],
  [
    withSteps({ ...branch(isOpen, [{ type: 'end' }]), otherwise: [{ type: 'hand_over' }] }, say('x')),
    'steps[1]: never runs, because the step before ends the run',
  ],
  [
    withSteps({ type: 'send', message: text('x'), on_error: [{ type: 'hand_over' }, { type: 'end' }] }),
    'steps[0].on_error[1]: never runs, because the step before ends the run',
  ],
  // Messages.
  [send(null), 'steps[0].message: must be an object'],
  [send({ text: 'x' }), 'steps[0].message.type: required'],
  [send({ type: 'text' }), 'steps[0].message.text: required'],
  [send({ type: 'text', text: ' ' }), 'steps[0].message.text: must not be blank'],
  [send({ type: 'text', text: 'x'.repeat(4097) }), 'steps[0].message.text: must have 1 to 4096 characters'],
  [
    send({ type: 'text', text: 'x', reply_to_message_id: 'y' }),
    'steps[0].message.reply_to_message_id: unknown field; use type, text',
  ],
  [
    send({ type: 'reaction', reaction: {} }),
    'steps[0].message.type: must be one of text, interactive, image, video, audio, document, location, template',
  ],
  [send({ type: 'image', media_url: 'ftp://x' }), 'steps[0].message.media_url: must be an http or https URL'],
  [
    send({ type: 'image', media_url: 'https://x.test', filename: 'a' }),
    'steps[0].message.filename: only a document has a filename',
  ],
  [
    send({ type: 'audio', media_url: 'https://x.test', text: 'a' }),
    'steps[0].message.text: a voice message has no caption',
  ],
  [
    send({ type: 'location', location: { latitude: 91, longitude: 0 } }),
    'steps[0].message.location.latitude: must be at most 90',
  ],
  [
    send({ type: 'interactive', interactive: { kind: 'button' } }),
    'steps[0].message.interactive.kind: must be one of buttons, list, link',
  ],
  [
    send({
      type: 'interactive',
      interactive: { kind: 'buttons', body: 'x', buttons: [{ id: 'a', title: 'A', url: 'x' }] },
    }),
    'steps[0].message.interactive.buttons[0].url: unknown field; use id, title',
  ],
  [
    send({
      type: 'interactive',
      interactive: { kind: 'buttons', body: 'x', buttons: many(2, { id: 'a', title: 'A' }) },
    }),
    'steps[0].message.interactive.buttons[1].id: must be unique in the message',
  ],
  [
    send({ type: 'interactive', interactive: { kind: 'link', body: 'x', text: 'y', url: 'http://x.test' } }),
    'steps[0].message.interactive.url: must be an https URL',
  ],
  [
    send({ type: 'template', template: { name: 'x', params: 'y' } }),
    'steps[0].message.template.params: must be an array or an object',
  ],
  [
    send({ type: 'template', template: { name: 'x', params: { boddy: [] } } }),
    'steps[0].message.template.params.boddy: unknown field; did you mean body',
  ],
  // References.
  [send(text('{{contact.nme}}')), `steps[0].message.text: unknown field contact.nme; ${contactRule}`],
  [send(text('{{answers.A}}')), 'steps[0].message.text: unknown field answers.A; use answers.NAME'],
  [send(text('{{ answers.size | L }}')), 'steps[0].message.text: no earlier question or call saves answers.size'],
  [
    send({ type: 'template', template: { name: 'x', params: ['{{answers.size}}'] } }),
    'steps[0].message.template.params[0]: no earlier question or call saves answers.size',
  ],
  [withSteps(say('{{answers.a}}'), ask({})), 'steps[0].message.text: no earlier question or call saves answers.a'],
  [
    withSteps(ask({ timeout: { after: '1h', steps: [say('{{answers.a}}')] } })),
    'steps[0].timeout.steps[0].message.text: no earlier question or call saves answers.a',
  ],
  [
    withSteps({
      type: 'branch',
      cases: [{ when: { match: 'all', rules: [isOpen] }, steps: [ask({})] }],
      otherwise: [say('{{answers.a}}')],
    }),
    'steps[0].otherwise[0].message.text: no earlier question or call saves answers.a',
  ],
  [withSteps({ type: 'note', text: '{{answers.a}}' }), 'steps[0].text: no earlier question or call saves answers.a'],
  [
    withSteps({ type: 'set', attributes: { a: '{{contact.x}}' } }),
    `steps[0].attributes.a: unknown field contact.x; ${contactRule}`,
  ],
  // Questions.
  [withSteps(ask({ answer: {} })), 'steps[0].answer.type: required'],
  [
    withSteps(ask({ answer: { type: 'phone' } })),
    'steps[0].answer.type: must be one of text, number, email, date, choice',
  ],
  [
    withSteps(ask({ answer: { type: 'choice' } })),
    'steps[0].answer.type: a choice needs a message with buttons or a list',
  ],
  [withSteps(ask({ answer: { type: 'number', min: 2, max: 1 } })), 'steps[0].answer.max: must not be less than min'],
  [
    withSteps(ask({ save_as: 'name' })),
    `steps[0].save_as: must be answers.NAME or contact.attributes.NAME; ${nameRule}`,
  ],
  [
    withSteps(ask({ save_as: 'answers.a\n' })),
    `steps[0].save_as: must be answers.NAME or contact.attributes.NAME; ${nameRule}`,
  ],
  [withSteps(ask({ retries: { max: 0, text: 'x' } })), 'steps[0].retries.max: must be at least 1'],
  [withSteps(ask({ retries: { max: 1.5, text: 'x' } })), 'steps[0].retries.max: must be a whole number'],
  [withSteps(ask({ retries: { max: 1, text: ' ' } })), 'steps[0].retries.text: must not be blank'],
  [withSteps(ask({ timeout: { after: '30s', steps: [] } })), 'steps[0].timeout.after: must be 1m to 30d'],
  // Branches.
  [withSteps({ type: 'branch', cases: [] }), 'steps[0].cases: must have at least 1 item'],
  [withSteps({ type: 'branch', cases: many(21, {}) }), 'steps[0].cases: must have at most 20 items'],
  [withSteps({ type: 'branch', cases: [{ steps: [] }] }), 'steps[0].cases[0].when: required'],
  [
    withSteps(say('a'), say('b'), {
      type: 'branch',
      cases: [{ when: { match: 'all', rules: [isOpen, { field: 'tag', op: 'is' }] }, steps: [] }],
    }),
    'steps[2].cases[0].when.rules[1].op: unknown for tag; use one of has, not_has',
  ],
  [
    withSteps(branch({ field: 'status', op: 'is', value: 'done' })),
    'steps[0].cases[0].when.rules[0].value: must be one of open, pending, closed',
  ],
  [
    withSteps(branch({ field: 'assignee', op: 'is', value: 'Ann' })),
    'steps[0].cases[0].when.rules[0].value: must be the id of a member',
  ],
  [
    withSteps(branch({ field: 'team', op: 'is', value: 'Support' })),
    'steps[0].cases[0].when.rules[0].value: must be the id of a team',
  ],
  [
    withSteps(branch({ field: 'status', operator: 'is' })),
    'steps[0].cases[0].when.rules[0].operator: unknown field; use field, op, value, match, rules',
  ],
  [
    withSteps(branch({ match: 'any', rules: [{ field: 'answers.a', op: 'gt', value: 'x' }] })),
    'steps[0].cases[0].when.rules[0].rules[0].value: must be a number, such as 12 or -0.5',
  ],
  [
    withSteps(branch({ field: 'answers.a.b', op: 'is', value: 'x' })),
    'steps[0].cases[0].when.rules[0].field: no earlier question or call saves answers.a',
  ],
  // Other steps.
  [withSteps({ type: 'wait', for: '9s' }), 'steps[0].for: must be 10s to 90d'],
  [withSteps({ type: 'wait', for: '10' }), `steps[0].for: ${durationRule}`],
  [withSteps({ type: 'wait' }), 'steps[0].for: required, or until'],
  [withSteps({ type: 'wait', for: '1h', until: 'opening' }), 'steps[0].until: not together with for'],
  [withSteps({ type: 'wait', until: 'closing' }), 'steps[0].until: must be one of opening'],
  [
    withSteps(branch({ field: 'hours', op: 'is', value: 'open soon' })),
    'steps[0].cases[0].when.rules[0].value: must be one of open, closed',
  ],
  [withSteps({ type: 'set' }), 'steps[0]: must change something'],
  [withSteps({ type: 'set', status: 'snoozed' }), 'steps[0].status: must be one of open, pending, closed'],
  [
    withSteps({ type: 'set', status: 'open', snooze_for: '1h' }),
    'steps[0].snooze_for: a snoozed conversation has the status pending',
  ],
  [withSteps({ type: 'set', assigned_agent_id: 'Ann' }), 'steps[0].assigned_agent_id: not a uuid'],
  [withSteps({ type: 'set', assigned_team_id: 'Support' }), 'steps[0].assigned_team_id: not a uuid'],
  [withSteps({ type: 'set', add_labels: [' '] }), 'steps[0].add_labels[0]: must not be blank'],
  [withSteps({ type: 'set', add_tags: ['x'.repeat(81)] }), 'steps[0].add_tags[0]: must have at most 80 characters'],
  [withSteps({ type: 'set', attributes: {} }), 'steps[0].attributes: must have at least one entry'],
  [
    withSteps({ type: 'set', attributes: { a: [] } }),
    'steps[0].attributes.a: must be a string or a number or true or false or null',
  ],
  [withSteps({ type: 'set', attributes: { 'A b': 1 } }), `steps[0].attributes: ${nameRule}`],
  [withSteps({ type: 'note', text: '' }), 'steps[0].text: must not be empty'],
  [withSteps({ type: 'note', text: ' ' }), 'steps[0].text: must not be blank'],
  [withSteps({ type: 'call', url: 'http://shop.test' }), 'steps[0].url: must be an https URL'],
  [
    withSteps({ type: 'call', url: 'https://shop.test/{{answers.a}}' }),
    'steps[0].url: must not have references; the request has all answers',
  ],
  [
    withSteps({ type: 'call', url: 'https://shop.test', save_as: 'contact.attributes.order' }),
    'steps[0].save_as: the response of a call is saved as answers.NAME',
  ],
  [withSteps({ type: 'hand_over', assigned_agent_id: null }), 'steps[0].assigned_agent_id: must be a string'],
  [withSteps({ type: 'hand_over', assigned_team_id: null }), 'steps[0].assigned_team_id: must be a string'],
  [withSteps({ type: 'end', note: 'x' }), 'steps[0].note: unknown field; use type'],
]
