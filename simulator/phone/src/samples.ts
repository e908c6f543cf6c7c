/** Sample data: magic numbers, faults, API calls, customers and locations. */
import type { Customer } from './api.ts'

export const magicNumbers = [
  { number: '+15005550001', title: 'Unreachable', effect: 'The channel cannot reach this number.', code: '131026' },
  { number: '+15005550002', title: 'Template paused', effect: 'Every template is refused as paused.', code: '132015' },
  { number: '+15005550003', title: 'Channel down', effect: 'The channel answers with HTTP 500.', code: '131000' },
  { number: '+15005550004', title: 'Throttled', effect: 'The channel refuses with a rate limit.', code: '130429' },
  { number: '+15005550005', title: 'Never read', effect: 'Sent and delivered, but not read.', code: '' },
  { number: '+15005550006', title: 'Fails after sent', effect: 'Sent first, then failed.', code: '' },
  {
    number: '+15005550009',
    title: 'No answer',
    effect: 'The channel accepts the request and never answers.',
    code: '',
  },
]

export const faultModes: Record<string, { title: string; effect: string }> = {
  reject: { title: 'Reject', effect: 'Refuses the message with an error code.' },
  http_500: { title: 'HTTP 500', effect: 'Answers every send with HTTP 500.' },
  throttle: { title: 'Throttle', effect: 'Refuses the message with a rate limit.' },
  delay: { title: 'Delay', effect: 'Accepts the message after the delay.' },
  hang: { title: 'No answer', effect: 'Accepts the request and never answers.' },
  drop_connection_after_accept: {
    title: 'Drop the connection',
    effect: 'Accepts the message and closes the connection before the answer.',
  },
  no_statuses: { title: 'No status reports', effect: 'Accepts the message and reports no status.' },
  duplicate_statuses: { title: 'Duplicate status reports', effect: 'Reports every status twice.' },
  reorder_statuses: { title: 'Reorder status reports', effect: 'Reports read before delivered before sent.' },
}

export const errorTexts: Record<number, string> = {
  130429: 'The channel’s rate limit was reached',
  130472: 'The customer is part of an experiment and does not get such messages',
  131000: 'An error occurred at the channel',
  131026: 'This number cannot be reached',
  131047: 'The customer has not written for 24 hours, so only a template can be sent',
  131048: 'Too many customers marked messages from this number as spam',
  131049: 'The channel does not deliver further marketing messages to this customer',
  131051: 'The channel does not support this type of message',
  131053: 'The file could not be downloaded',
  132000: 'The number of values does not match the template',
  132001: 'The template does not exist in this language',
  132012: 'A value does not match the template',
  132015: 'The template is paused',
  132016: 'The template is disabled',
}

const json = (value: unknown) => JSON.stringify(value, null, 2).replaceAll("'", "'\\''")

const curl = (body: object) => `curl ${location.origin}/v1/messages \\
  -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" \\
  -d '${json(body)}'`

const template = (to: string, name: string, params?: object) =>
  curl({ to, type: 'template', template: { name, ...(params ? { params } : {}) } })

/** A customer who has not written yet can get a template only. */
export const firstCall = (to: string) =>
  `KEY=$(node -p "JSON.parse(fs.readFileSync('data/demo.json')).api_key")\n\n${template(to, 'hello_world')}`

export const sampleCalls: { title: string; description: string; call: (to: string) => string }[] = [
  {
    title: 'hello_world',
    description: 'The smallest template, without values',
    call: (to) => template(to, 'hello_world'),
  },
  {
    title: 'order_confirmed',
    description: 'Two values in the body',
    call: (to) => template(to, 'order_confirmed', { body: ['Ann', '#4711'] }),
  },
  {
    title: 'order_update',
    description: 'A button that opens a page',
    call: (to) => template(to, 'order_update', { body: ['#4711', 'on its way'], buttonParams: { 0: '4711' } }),
  },
  {
    title: 'order_code',
    description: 'A heading and a code to copy',
    call: (to) => template(to, 'order_code', { headerText: 'Ann', body: ['#4711'], buttonParams: { 0: 'SPRING25' } }),
  },
  {
    title: 'appointment',
    description: 'Named values and a picture',
    call: (to) =>
      template(to, 'appointment', {
        bodyNamed: { name: 'Ann', time: 'Friday at 10:30' },
        headerMediaUrl: 'https://example.com/clinic.jpg',
      }),
  },
  {
    title: 'offer_carousel',
    description: 'A carousel of two cards',
    call: (to) =>
      template(to, 'offer_carousel', {
        body: ['Ann'],
        cards: [
          { headerMediaUrl: 'https://example.com/one.jpg', body: ['20%'], buttonParams: { 0: 'one' } },
          { headerMediaUrl: 'https://example.com/two.jpg', body: ['35%'], buttonParams: { 0: 'two' } },
        ],
      }),
  },
  {
    title: 'Free text',
    description: 'Within 24 hours of the customer’s last message',
    call: (to) => curl({ to, text: 'Hello! How can we *help*?' }),
  },
]

export const locations = [
  { name: 'Ferry Building', address: '1 Ferry Building, San Francisco', latitude: 37.7955, longitude: -122.3937 },
  { name: 'Gare de Lyon', address: 'Place Louis-Armand, Paris', latitude: 48.8443, longitude: 2.3744 },
  { name: 'Shibuya Crossing', address: '2 Dogenzaka, Tokyo', latitude: 35.6595, longitude: 139.7005 },
  { name: 'Mercado Central', address: 'Plaça de la Ciutat de Bruges, València', latitude: 39.4736, longitude: -0.379 },
  { name: 'Company’s Garden', address: '19 Queen Victoria St, Cape Town', latitude: -33.9289, longitude: 18.4172 },
]

export const reactions = ['👍', '❤️', '😂', '😮', '😢', '🙏']

const names = [
  ...['Ann Okafor', 'Bruno Lindqvist', 'Chiara Rossi', 'Dev Anand', 'Elif Kaya', 'Fatima Haddad', 'Goran Petrov'],
  ...['Hana Sato', 'Inés Romero', 'Jonas Weber', 'Kofi Mensah', 'Leila Rahimi', 'Mateo Silva', 'Nora Byrne'],
  ...['Omar Farouk', 'Priya Nair', 'Quentin Morel', 'Rosa Delgado', 'Sami Virtanen', 'Tomás Herrera', 'Uma Krishnan'],
  ...['Vera Novak', 'Wen Li', 'Yusuf Demir', 'Zoë Martens'],
]
const areaCodes = ['206', '212', '303', '312', '415', '503', '617', '646', '718', '818']

const anyOf = (list: readonly string[]) => list[Math.floor(Math.random() * list.length)] ?? ''
const digits = (count: number) => String(Math.floor(Math.random() * 10 ** count)).padStart(count, '0')

/** A customer with a number from the range that is reserved for fiction. */
export function randomCustomer() {
  const name = anyOf(names)
  const username = name
    .replace(' ', '.')
    .normalize('NFD')
    .replace(/[^a-zA-Z.]/g, '')
    .toLowerCase()
  const number = `+1${anyOf(areaCodes)}55501${digits(2)}`
  /** The user id of a customer who hides the number. */
  const hiddenId = `US.1${digits(9)}${digits(10)}`
  return { name, number, username, userId: `1784${digits(12)}`, hiddenId }
}

/** The customer on an empty page. */
export const firstCustomer: Customer = { channel: 'msgapp', id: '+14155550100', name: 'Ann Okafor', username: null }
