// @ts-check
/** What the page knows by heart: the numbers that misbehave, the faults, calls to try, and people and places to play with. */

/** Numbers whose fate is fixed, for people who want to see one failure at once. */
export const magicNumbers = [
  { number: '+15005550001', title: 'Unreachable', does: 'The channel finds nobody at this number.', code: '131026' },
  { number: '+15005550002', title: 'Template paused', does: 'Every template is refused as paused.', code: '132015' },
  { number: '+15005550003', title: 'Channel down', does: 'The channel itself fails with HTTP 500.', code: '131000' },
  {
    number: '+15005550004',
    title: 'Throttled',
    does: 'Too many messages: the channel asks to slow down.',
    code: '130429',
  },
  { number: '+15005550005', title: 'Never read', does: 'Sent and delivered, and left unread.', code: '' },
  { number: '+15005550006', title: 'Fails after sent', does: 'One tick first, then the failure.', code: '' },
  { number: '+15005550009', title: 'No answer', does: 'The channel takes the call and says nothing.', code: '' },
]

/** @type {Record<string, { title: string, does: string }>} */
export const faultModes = {
  reject: { title: 'Reject', does: 'Refuses the message with an error code.' },
  http_500: { title: 'Answer 500', does: 'The channel is down: every send is answered with HTTP 500.' },
  throttle: { title: 'Throttle', does: 'Too many messages: asks to slow down.' },
  delay: { title: 'Answer late', does: 'Accepts the message, after the delay given below.' },
  hang: { title: 'Hang', does: 'Takes the request and never answers.' },
  drop_connection_after_accept: {
    title: 'Hang up after accepting',
    does: 'Takes the message, then breaks the connection before saying so.',
  },
  no_statuses: { title: 'No status reports', does: 'Accepts the message, then tells nothing more of it.' },
  duplicate_statuses: { title: 'Repeat status reports', does: 'Reports every status twice.' },
  reorder_statuses: { title: 'Shuffle status reports', does: 'Reports read before delivered before sent.' },
}

/** Error codes of the channel in words. @type {Record<string, string>} */
export const errorWords = {
  130429: 'The channel asks to slow down',
  130472: 'The customer is part of an experiment and gets no such messages',
  131000: 'Something went wrong at the channel',
  131026: 'This number cannot be reached',
  131047: 'More than 24 hours since the customer wrote: only a template may be sent',
  131048: 'Too many messages of this number were marked as unwanted',
  131049: 'The channel holds back marketing messages to this customer',
  131051: 'The channel does not know this kind of message',
  131053: 'The file could not be fetched',
  132000: 'The values do not fit the template',
  132001: 'There is no such template in this language',
  132012: 'A value does not fit the template',
  132015: 'The template is paused',
  132016: 'The template was disabled',
}

const quoted = (/** @type {unknown} */ value) => JSON.stringify(value).replaceAll("'", "'\\''")

/** @param {Record<string, unknown>} body */
function curl(body) {
  const lines = Object.entries(body).map(([key, value]) => `    "${key}": ${spaced(value)}`)
  return `curl ${location.origin}/v1/messages \\
  -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{
${lines.join(',\n')}
  }'`
}

/** @param {unknown} value @returns {string} */
function spaced(value) {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`
  if (value === null || typeof value !== 'object') return quoted(value)
  return `{ ${Object.entries(value)
    .map(([key, inner]) => `${quoted(key)}: ${spaced(inner)}`)
    .join(', ')} }`
}

/** The demo workspace's key, read into the shell. */
export const readKey = `KEY=$(node -p "JSON.parse(fs.readFileSync('data/demo.json')).api_key")`

/** @param {string} to @param {string} name @param {Record<string, unknown>} [params] */
const template = (to, name, params) => curl({ to, type: 'template', template: { name, ...(params ? { params } : {}) } })

/** The first message to a customer who has not written yet must be a template. @param {string} to */
export const firstCall = (to) => template(to, 'hello_world')

/** @type {{ title: string, does: string, call: (to: string) => string }[]} */
export const calls = [
  { title: 'hello_world', does: 'The smallest template, no values.', call: firstCall },
  {
    title: 'order_confirmed',
    does: 'Two values in the body.',
    call: (to) => template(to, 'order_confirmed', { body: ['Ann', '#4711'] }),
  },
  {
    title: 'order_update',
    does: 'A button that opens a page.',
    call: (to) => template(to, 'order_update', { body: ['#4711', 'on its way'], buttonParams: { 0: '4711' } }),
  },
  {
    title: 'order_code',
    does: 'A heading, and a code to copy.',
    call: (to) => template(to, 'order_code', { headerText: 'Ann', body: ['#4711'], buttonParams: { 0: 'SPRING25' } }),
  },
  {
    title: 'appointment',
    does: 'Named values and a picture.',
    call: (to) =>
      template(to, 'appointment', {
        bodyNamed: { name: 'Ann', time: 'Friday at 10:30' },
        headerMediaUrl: 'https://example.com/clinic.jpg',
      }),
  },
  {
    title: 'offer_carousel',
    does: 'Cards to swipe.',
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
    does: 'Within 24 hours of the customer’s last message.',
    call: (to) => curl({ to, text: 'Hello! How can we *help*?' }),
  },
]

export const places = [
  { name: 'Ferry Building', address: '1 Ferry Building, San Francisco', latitude: 37.7955, longitude: -122.3937 },
  { name: 'Gare de Lyon', address: 'Place Louis-Armand, Paris', latitude: 48.8443, longitude: 2.3744 },
  { name: 'Shibuya Crossing', address: '2 Dogenzaka, Tokyo', latitude: 35.6595, longitude: 139.7005 },
  { name: 'Mercado Central', address: 'Plaça de la Ciutat de Bruges, València', latitude: 39.4736, longitude: -0.379 },
  { name: 'Company’s Garden', address: '19 Queen Victoria St, Cape Town', latitude: -33.9289, longitude: 18.4172 },
]

export const reactions = ['👍', '❤️', '😂', '😮', '😢', '🙏']

const names = [
  'Ann Okafor',
  'Bruno Lindqvist',
  'Chiara Rossi',
  'Dev Anand',
  'Elif Kaya',
  'Fatima Haddad',
  'Goran Petrov',
  'Hana Sato',
  'Inés Romero',
  'Jonas Weber',
  'Kofi Mensah',
  'Leila Rahimi',
  'Mateo Silva',
  'Nora Byrne',
  'Omar Farouk',
  'Priya Nair',
  'Quentin Morel',
  'Rosa Delgado',
  'Sami Virtanen',
  'Tomás Herrera',
  'Uma Krishnan',
  'Vera Novak',
  'Wen Li',
  'Yusuf Demir',
  'Zoë Martens',
]
const areas = ['206', '212', '303', '312', '415', '503', '617', '646', '718', '818']

/** @template T @param {readonly T[]} list @returns {T} */
const any = (list) => /** @type {T} */ (list[Math.floor(Math.random() * list.length)])

/** Somebody who could exist, at a number kept for stories. */
export function randomPerson() {
  const name = any(names)
  const number = `+1${any(areas)}55501${String(Math.floor(Math.random() * 100)).padStart(2, '0')}`
  const username = `${name.split(' ')[0]}.${name.split(' ')[1]}`
    .normalize('NFD')
    .replace(/[^a-zA-Z.]/g, '')
    .toLowerCase()
  const userId = `1784${String(Math.floor(Math.random() * 1e12)).padStart(12, '0')}`
  return { name, number, username, userId }
}

/** Who is on the table when nobody is. */
export const firstPerson = {
  channel: /** @type {const} */ ('msgapp'),
  id: '+14155550100',
  name: 'Ann Okafor',
  username: null,
}
