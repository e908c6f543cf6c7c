/**
 * The members, contacts, labels, canned replies, segments and broadcast of the demo shop, a workshop for tableware and small furniture.
 *
 * The phone numbers are reserved for fiction or unassigned. No example and no test number of the simulator is among them.
 */
import type { ChannelName } from '../contacts/resource.ts'
import type { Filter } from '../segments/filter.ts'
import type { TargetInput } from '../targets/targets.ts'
import type { Policy } from '../teams/capacity.ts'

/** Members besides the owner. */
export const colleagues = [
  { key: 'alex', name: 'Alex Rivera', email: 'alex@demo.test', role: 'admin' },
  { key: 'sam', name: 'Sam Porter', email: 'sam@demo.test', role: 'agent' },
] as const

export type MemberKey = 'owner' | (typeof colleagues)[number]['key']

/** How many conversations the policy of a team gives to a member. */
export const capacities: Record<MemberKey, number> = { owner: 20, alex: 8, sam: 5 }

export type TeamKey = 'sales' | 'support'

/** The owner is in no team with a policy: what the customers of the demo wait for stays in the queue while the owner looks around. */
export const demoTeams: Record<
  TeamKey,
  { name: string; color: string; policy: Policy; members: readonly MemberKey[]; channels: readonly ChannelName[] }
> = {
  sales: { name: 'Sales', color: '#7c3aed', policy: 'none', members: ['owner', 'alex'], channels: ['social'] },
  support: {
    name: 'Support',
    color: '#0284c7',
    policy: 'fewest_open',
    members: ['alex', 'sam'],
    channels: ['msgapp', 'web'],
  },
}

/**
 * When they work, in hours before and after the time of the day at which the demo is created, because its conversations are counted from then.
 * Today they left `leftMinutes` ago. `isChosen`: the member chose to be away in the break.
 */
export const shifts: Record<
  MemberKey,
  { from: number; pause: { from: number; until: number }; until: number; leftMinutes: number; isChosen: boolean }
> = {
  owner: { from: -7, pause: { from: -4.5, until: -4 }, until: 3.5, leftMinutes: 6, isChosen: true },
  alex: { from: -8, pause: { from: -3, until: -2.25 }, until: 2.5, leftMinutes: 25, isChosen: true },
  sam: { from: -6.5, pause: { from: -1.5, until: -1 }, until: 4.25, leftMinutes: 12, isChosen: false },
}

/** In calendar time: the hours of the demo's conversations depend on when it was created. */
export const demoTargets: readonly Omit<TargetInput, 'is_active' | 'is_office_time'>[] = [
  {
    name: 'Urgent and wholesale',
    conditions: {
      match: 'any',
      rules: [
        { field: 'label', op: 'has', value: 'Urgent' },
        { field: 'tag', op: 'has', value: 'Wholesale' },
      ],
    },
    first_reply_minutes: 60,
    next_reply_minutes: 120,
    closing_minutes: null,
  },
  {
    name: 'All customers',
    conditions: null,
    first_reply_minutes: 5 * 60,
    next_reply_minutes: 8 * 60,
    closing_minutes: 4 * 24 * 60,
  },
]

/** The automation that members start to close a conversation. */
export const macro = 'Close as answered'

/** Labels of conversations, each with a color of its own. */
export const labelColors: Readonly<Record<string, string>> = {
  Delivery: '#0284c7',
  Pickup: '#059669',
  Invoice: '#d97706',
  Refund: '#7c3aed',
  Urgent: '#e11d48',
  'Made to order': '#0d9488',
}

/** Shared by all members. */
export const cannedReplies: readonly { shortcut: string; text: string }[] = [
  { shortcut: 'hours', text: 'The studio is open Monday to Friday, 9 am to 6 pm, and Saturday, 9 am to 2 pm.' },
  {
    shortcut: 'shipping',
    text: 'Hi {{contact.first_name|there}}, parcels take 2 to 4 days, pallets leave on the 3rd and the 17th. You get a link to follow yours.',
  },
  {
    shortcut: 'broken',
    text: 'I am sorry, {{contact.first_name|that should not happen}}. Please send a picture of the piece and the box, and a new one leaves today.',
  },
  {
    shortcut: 'quote',
    text: 'Thank you for asking! Which piece, how many, and by when? I send a quote the same day.\n\n{{member.first_name}}',
  },
]

export type DemoPerson = {
  name: string
  /** E.164. A person without one is known on another channel only. */
  phone?: string
  email?: string
  company?: string
  tags?: readonly string[]
  attributes?: Record<string, string | number | boolean>
  /** A note of a member about the contact. */
  note?: { by: MemberKey; ago: string; text: string }
  /** The age of the contact in days, unless their first message is older. */
  since: number
  social?: { id: string; username: string }
  isVisitor?: true
}

// biome-ignore format: a table
const people = {
  maya: { name: 'Maya Lindqvist', phone: '+46701740605', email: 'maya@svala.example', company: 'Restaurang Svala', tags: ['Wholesale', 'VIP'], attributes: { customer_number: 'W-104', discount_percent: 12, newsletter: true }, note: { by: 'alex', ago: '12d 03:30', text: 'Orders for the restaurant, pays by invoice. Prefers calls before ten.' }, since: 61 },
  thomas: { name: 'Thomas Okafor', phone: '+442079460018', email: 'thomas@larder.example', company: 'The Larder', tags: ['Wholesale'], attributes: { customer_number: 'W-087', discount_percent: 8, newsletter: true }, since: 48 },
  elena: { name: 'Elena Marchetti', phone: '+12125550143', email: 'elena.m@post.example', tags: ['Retail'], attributes: { loyalty_points: 80 }, since: 9 },
  jonas: { name: 'Jonas Weber', phone: '+493023125118', company: 'Café Morgenrot', tags: ['Wholesale'], attributes: { customer_number: 'W-112', discount_percent: 8 }, since: 35 },
  priya: { name: 'Priya Raman', phone: '+12125550161', email: 'priya@raman.example', tags: ['Retail', 'VIP'], attributes: { loyalty_points: 340, newsletter: true }, since: 52 },
  claire: { name: 'Claire Dubois', phone: '+33199001842', email: 'claire@maisondubois.example', company: 'Maison Dubois', tags: ['Wholesale'], attributes: { customer_number: 'W-093', discount_percent: 10, newsletter: false }, since: 40 },
  lucas: { name: 'Lucas Fernández', phone: '+34910050117', tags: ['Retail'], since: 12 },
  aoife: { name: 'Aoife Brennan', phone: '+353209140031', email: 'aoife@brennan.example', company: 'Brennan Interiors', tags: ['Trade'], attributes: { customer_number: 'T-021', discount_percent: 15 }, since: 27 },
  samuel: { name: 'Samuel Whitfield', phone: '+442079460337', tags: ['Retail'], attributes: { loyalty_points: 20, newsletter: false }, since: 6 },
  noor: { name: 'Noor Haddad', phone: '+16135550127', email: 'noor@haddad.example', company: 'Studio Haddad', tags: ['Trade', 'VIP'], attributes: { customer_number: 'T-018', discount_percent: 15, newsletter: true }, note: { by: 'sam', ago: '9d 00:30', text: 'Public library: needs three quotes before they can order.' }, since: 33 },
  oliver: { name: 'Oliver Grant', phone: '+61491570156', tags: ['Retail'], since: 13 },
  hannah: { name: 'Hannah Schultz', phone: '+493023125406', tags: ['Retail', 'Workshop'], since: 20 },
  daniel: { name: 'Daniel Kim', phone: '+12125550178', email: 'daniel.kim@post.example', tags: ['Retail'], since: 3 },
  grace: { name: 'Grace Mbeki', phone: '+442079460512', tags: ['Retail'], since: 44 },
  marta: { name: 'Marta Kowalska', phone: '+442079460645', company: 'Birch & Bloom', tags: ['Wholesale'], since: 25 },
  isabel: { name: 'Isabel Romero', phone: '+34910050148', tags: ['Retail', 'Workshop'], since: 18 },
  ben: { name: 'Benjamin Clarke', phone: '+12125550185', tags: ['Retail'], since: 29 },
  fatima: { name: 'Fatima Zahra', phone: '+33199001917', tags: ['Workshop'], since: 16 },
  george: { name: 'George Papadopoulos', phone: '+16135550164', company: 'Olive Tree Taverna', tags: ['Wholesale'], since: 31 },
  emma: { name: 'Emma Sørensen', phone: '+46701740638', tags: ['Workshop'], since: 22 },
  sofia: { name: 'Sofia Alvarez', social: { id: '17841405822304914', username: 'sofia.at.home' }, tags: ['Retail'], since: 8 },
  tilda: { name: 'Tilda Nyström', social: { id: '17841407301128856', username: 'tilda_nystrom' }, tags: ['Workshop'], since: 15 },
  kit: { name: 'Kit Harlow', social: { id: '17841409947720133', username: 'kit.and.clay' }, since: 0 },
  yuki: { name: 'Yuki Tanaka', email: 'yuki@tanaka.example', isVisitor: true, since: 5 },
  leo: { name: 'Leo Hoffmann', email: 'leo.hoffmann@post.example', isVisitor: true, since: 0 },
  rachel: { name: 'Rachel Stone', email: 'rachel.stone@post.example', isVisitor: true, since: 10 },
} satisfies Record<string, DemoPerson>

export type PersonKey = keyof typeof people
export const demoPeople: Record<PersonKey, DemoPerson> = people

type DemoSegment = { name: string; description: string; since: number } & (
  | { filter: Filter }
  | { members: readonly PersonKey[] }
)

export const guests = 'Open studio guests'

/** The recipients of the demo's broadcast. */
// biome-ignore format: a table
export const guestList: readonly PersonKey[] = [
  'maya', 'thomas', 'jonas', 'priya', 'claire', 'lucas', 'aoife', 'noor', 'oliver', 'hannah', 'grace', 'marta', 'isabel',
  'ben', 'fatima', 'george', 'emma', 'tilda',
]

export const demoSegments: readonly DemoSegment[] = [
  {
    name: 'Wholesale',
    description: 'Restaurants, cafés and shops that order in bulk.',
    since: 30,
    filter: { match: 'all', rules: [{ field: 'tag', op: 'has', value: 'Wholesale' }] },
  },
  {
    name: 'Wrote this week',
    description: 'Contacts who wrote in the last seven days.',
    since: 21,
    filter: { match: 'all', rules: [{ field: 'last_inbound_at', op: 'after', value: '7d' }] },
  },
  { name: guests, description: 'Contacts who asked for news about open studio days.', since: 14, members: guestList },
]

/** A broadcast to the guest list. Recipients who are not named here have read it. */
export const demoBroadcast = {
  name: 'Open studio on Saturday',
  ago: '5d 03:20',
  template: { name: 'appointment', language: 'en_US' },
  values: {
    name: '{{contact.name|there}}',
    time: 'open studio on Saturday, 10 am to 5 pm, with tea and seconds at half price',
  },
  picture: 'open-studio.jpg',
  delivered: ['oliver', 'george', 'ben'] as readonly PersonKey[],
  sent: ['fatima'] as readonly PersonKey[],
  failed: 'lucas' as PersonKey,
}
