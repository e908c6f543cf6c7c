/**
 * The conversations of the demo shop in its last two weeks.
 *
 * `ago` is the age of a line in days, hours and minutes when the demo is created. The lines of a thread are in order. `quotes`
 * and `reacts` refer to a line by its index in the thread.
 *
 * Over 400 lines because it is one list of texts.
 */
import type { TemplateParams } from '../channels/channel.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { type MemberKey, macro, type PersonKey, type TeamKey } from './people.ts'

export type DemoLine = {
  ago: string
  from: 'customer' | MemberKey | 'api'
  text: string | null
  /** The status of an outbound line; `read` when absent. */
  status?: 'sent' | 'delivered' | 'read' | 'failed'
  error?: string
  quotes?: number
  reacts?: number
  picture?: string
  location?: { latitude: number; longitude: number; name: string; address: string }
  template?: { name: string; params: TemplateParams }
}

type DemoNote = { ago: string; text: string; by?: MemberKey; mentions?: readonly MemberKey[] }

export type DemoThread = {
  with: PersonKey
  channel: ChannelName
  status: 'open' | 'pending' | 'closed'
  /** The policy of the team assigned it when it opened, or the member took it with the first reply. */
  assignee?: MemberKey
  /** A member moved it to this team; the team that serves the connection if absent. */
  team?: TeamKey
  /** The number of unread lines. */
  unread?: number
  labels?: readonly string[]
  /** Snoozed for this long from now. Its status is `pending`. */
  snoozedFor?: string
  /** Notes of members, which customers never see; of the owner if `by` is absent. A text names whom it mentions: `@Demo Owner`. */
  notes?: readonly DemoNote[]
  closings?: readonly DemoClosing[]
  lines: readonly DemoLine[]
}

type Rating = 1 | 2 | 3 | 4 | 5

/** A member, or the macro of the demo, closes the conversation. The customer may be asked for a rating then; without `rating` there is no answer. */
type DemoClosing = {
  ago: string
  by: MemberKey | typeof macro
  question?: { rating?: Rating; comment?: string }
}

/** `12d 04:40`, in milliseconds. */
export function spanOf(text: string): number {
  const [, days, hours, minutes] = /^(\d+)d (\d\d):(\d\d)$/.exec(text) ?? []
  if (minutes === undefined) throw new Error(`'${text}' is not a time of the demo, such as '12d 04:40'`)
  return ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60_000
}

type More = Omit<DemoLine, 'ago' | 'from' | 'text'>

const they = (ago: string, text: string | null, more: More = {}): DemoLine => ({ ago, from: 'customer', text, ...more })
const we = (ago: string, text: string | null, more: More = {}): DemoLine => ({ ago, from: 'owner', text, ...more })
const alex = (ago: string, text: string): DemoLine => ({ ago, from: 'alex', text })
const sam = (ago: string, text: string, more: More = {}): DemoLine => ({ ago, from: 'sam', text, ...more })
/** The shop's own system, through the API. */
const shop = (ago: string, name: string, params: TemplateParams, more: More = {}): DemoLine => ({
  ago,
  from: 'api',
  text: null,
  template: { name, params },
  ...more,
})

/** Closed and not asked about, asked without an answer, or rated. */
const closed = (ago: string, by: DemoClosing['by']): DemoClosing => ({ ago, by })
const asked = (ago: string, by: DemoClosing['by']): DemoClosing => ({ ago, by, question: {} })
const rated = (ago: string, by: DemoClosing['by'], rating: Rating, comment?: string): DemoClosing => ({
  ...{ ago, by },
  question: { rating, ...(comment === undefined ? {} : { comment }) },
})

export const demoThreads: readonly DemoThread[] = [
  {
    with: 'maya',
    channel: 'msgapp',
    status: 'open',
    assignee: 'owner',
    team: 'sales',
    closings: [closed('12d 03:10', 'owner'), rated('6d 01:55', 'owner', 5)],
    labels: ['Delivery'],
    unread: 2,
    notes: [
      {
        ago: '0d 00:41',
        by: 'sam',
        text: '@Demo Owner Can we promise the 14th with 12 platters more? The kiln is full until the 12th.',
        mentions: ['owner'],
      },
    ],
    lines: [
      they('12d 04:40', 'Hi! We loved the speckled dinner plates you showed at the design fair.'),
      they('12d 04:39', 'Do you make them in larger numbers? We are refitting the dining room for spring.'),
      we('12d 04:21', 'Hello Maya, so glad you liked them! Yes, we do series of 40 and up for restaurants.'),
      we('12d 04:20', 'How many covers do you have?'),
      they('12d 03:58', '48. So 60 dinner plates and 60 bowls to be safe.'),
      we('12d 03:44', 'Lovely. That is about five weeks, and I can send a sample of each glaze this Friday.'),
      they('12d 03:40', 'Perfect, please do!'),
      we('12d 03:36', 'They are in the diary.'),
      shop('9d 05:00', 'order_update', { body: ['of samples A-2017', 'on its way'], buttonParams: { 0: 'A-2017' } }),
      they('6d 02:30', 'The samples are here. The team is split between Oat and Juniper 😄'),
      we('6d 02:18', 'Happens every time! This is Juniper on the wide rim, fired last night.', {
        picture: 'juniper-plates.jpg',
      }),
      they('6d 02:15', '😍', { reacts: 10 }),
      they('6d 02:10', 'OK that settles it. Juniper.'),
      we('6d 02:02', 'A good choice! 60 plates and 60 bowls in Juniper, ready on the 14th.'),
      they('0d 00:52', 'Good morning! Could we add 12 serving platters to the order?'),
      they('0d 00:50', 'And is delivery by the 14th still realistic?'),
    ],
  },
  {
    with: 'thomas',
    channel: 'msgapp',
    status: 'open',
    assignee: 'sam',
    closings: [rated('3d 05:20', 'sam', 2, 'The second bowl with a crack this year. The answer was quick, though.')],
    lines: [
      they('3d 06:10', 'Morning! One of the big salad bowls arrived with a crack, sadly.'),
      they('3d 06:09', 'Here is how it looked out of the box', { picture: 'cracked-bowl.jpg' }),
      sam('3d 05:58', 'Oh no, I am sorry, Thomas. That should not happen. A new one leaves today, on us.'),
      they('3d 05:55', 'That was quick, thank you!'),
      shop('3d 05:40', 'order_update', { body: ['B-1188', 'on its way'], buttonParams: { 0: 'B-1188' } }),
      they('0d 03:10', 'New bowl arrived, perfect this time. Do you want the cracked one back?'),
      sam('0d 02:58', 'No need, keep it for bread or plants. Thank you for telling us so kindly!', { quotes: 5 }),
      they('0d 02:57', '❤️', { reacts: 6 }),
    ],
  },
  {
    with: 'elena',
    channel: 'msgapp',
    status: 'open',
    closings: [asked('7d 21:50', 'owner')],
    labels: ['Pickup'],
    unread: 1,
    lines: [
      shop('8d 05:30', 'order_confirmed', { body: ['Elena', 'C-3302'] }),
      they('7d 22:40', 'Thank you! Can I still change the colour of the mugs from Sand to Ink?'),
      we('7d 22:05', 'Just in time: they go into the kiln tomorrow. Changed to Ink!'),
      they('7d 22:01', 'You are the best 😊'),
      we('7d 21:58', 'Happy to! They will look great.'),
      shop('4d 01:10', 'order_update', { body: ['C-3302', 'ready for collection'], buttonParams: { 0: 'C-3302' } }),
      they('0d 01:25', 'Hi, until what time can I pick up my order today?'),
    ],
  },
  {
    with: 'jonas',
    channel: 'msgapp',
    status: 'pending',
    assignee: 'owner',
    team: 'sales',
    closings: [asked('9d 22:00', 'owner')],
    labels: ['Invoice'],
    notes: [
      {
        ago: '2d 03:20',
        by: 'alex',
        text: 'Stamp with their logo is drawn. Invoice as soon as the tax number is here.',
      },
    ],
    lines: [
      they('10d 03:15', 'Hallo! We need 80 espresso cups, stackable if possible. What would that be?'),
      we('10d 02:50', 'Hallo Jonas! Stackable cups are 9.80 each from 50 pieces, saucers 5.20.'),
      they('10d 02:31', 'Good. With our logo on the base?'),
      we('10d 02:12', 'We press a stamp for that, 120 once. You keep it for every later order.'),
      they('9d 22:30', 'Sounds fair. I will talk to my partner and come back to you.'),
      we('9d 22:14', 'Of course, no hurry.'),
      they('2d 04:05', 'We are in. Can you send the invoice to the café?'),
      we('2d 03:31', 'Wonderful! Which tax number shall I put on it?', { status: 'delivered' }),
    ],
  },
  {
    with: 'priya',
    channel: 'msgapp',
    status: 'open',
    assignee: 'owner',
    closings: [closed('11d 01:00', 'owner'), rated('4d 22:40', 'owner', 5)],
    unread: 1,
    lines: [
      they('11d 01:20', 'Is the walnut side table in the window still available?'),
      we('11d 01:12', 'It is! The last one of this batch. Shall I put it aside for you?'),
      they('11d 01:11', 'Yes please, I will come by on Saturday'),
      we('11d 01:05', 'Done. It has your name on it until Sunday.'),
      they('4d 23:10', 'See you at the open studio! Bringing two friends.'),
      we('4d 22:51', 'Wonderful, there is cake for three.'),
      they('0d 05:30', 'The table looks so good in the hall 😊 Could you make a matching bench, 110 cm?'),
    ],
  },
  {
    with: 'claire',
    channel: 'msgapp',
    status: 'closed',
    labels: ['Delivery'],
    assignee: 'owner',
    team: 'sales',
    closings: [closed('13d 00:50', 'owner'), rated('7d 03:10', 'owner', 4)],
    lines: [
      they('13d 02:00', 'Bonjour, do you ship to Lyon? We would like to carry your vases in the shop.'),
      we('13d 01:33', 'Bonjour Claire! We do, twice a month by pallet. The next one leaves on the 3rd.'),
      they('13d 01:20', 'Super. Then the small set of 24 for a start.'),
      shop('13d 00:55', 'order_confirmed', { body: ['Claire', 'D-0915'] }),
      they('7d 03:45', 'Everything arrived whole. Our customers are already asking for the blue one!'),
      we('7d 03:20', 'Music to our ears. Merci!'),
    ],
  },
  {
    with: 'lucas',
    channel: 'msgapp',
    status: 'closed',
    closings: [closed('11d 05:00', 'alex')],
    labels: ['Refund'],
    lines: [
      shop(
        '11d 06:00',
        'order_confirmed',
        { body: ['Lucas', 'C-3287'] },
        { status: 'failed', error: '131026: Message undeliverable' },
      ),
    ],
  },
  {
    with: 'aoife',
    channel: 'msgapp',
    status: 'open',
    assignee: 'owner',
    team: 'sales',
    lines: [
      they('8d 02:20', 'Hi there, a client of mine wants a 240 cm oak dining table. Do you do custom lengths?'),
      we('8d 02:01', 'Hi Aoife, gladly: up to 280 cm in one piece. Oiled or soaped?'),
      they('8d 01:48', 'Oiled. Could someone come and measure the room?'),
      we('8d 01:40', 'Of course. Where is it?'),
      they('8d 01:36', null, {
        location: { latitude: 53.3382, longitude: -6.2591, name: "St Stephen's Green", address: 'Dublin 2, Ireland' },
      }),
      we('8d 01:20', 'Thank you. Would Tuesday at two suit your client?', { quotes: 4 }),
      they('8d 00:58', 'Tuesday at two it is'),
      we('8d 00:55', 'See you there!'),
      we('1d 04:30', 'Measured and drawn: 242 cm fits with 80 cm to walk on each side. Quote follows tonight.'),
      they('1d 04:02', 'You are making me look very good in front of my client, thank you!'),
      we('1d 03:50', 'With pleasure! The drawing is in your mail.'),
    ],
  },
  {
    with: 'samuel',
    channel: 'msgapp',
    status: 'open',
    closings: [rated('5d 20:40', 'owner', 4)],
    labels: ['Delivery', 'Urgent'],
    unread: 1,
    notes: [
      { ago: '0d 00:09', text: 'The courier left it with the neighbour at number 14. Photo is in the shop system.' },
    ],
    lines: [
      they('5d 21:00', 'Do the stoneware mugs go in the dishwasher?'),
      we('5d 20:56', 'They do, and in the microwave. Only the gold rims want washing by hand.'),
      they('5d 20:50', 'Great, ordering four.'),
      we('5d 20:47', 'Lovely, they leave the studio tomorrow.'),
      shop('5d 19:30', 'order_confirmed', { body: ['Samuel', 'C-3341'] }),
      they('0d 00:12', 'Order C-3341 says delivered, but I cannot find the parcel anywhere. Can you check?'),
    ],
  },
  {
    with: 'noor',
    channel: 'msgapp',
    status: 'pending',
    assignee: 'owner',
    team: 'sales',
    lines: [
      they('9d 02:40', 'We are fitting out a library and need 6 reading benches, ash, 180 cm. Lead time?'),
      we('9d 01:17', 'Hello Noor! Seven weeks for six. I can hold a slot in the workshop until Friday.', {
        status: 'failed',
        error: '131016: Service unavailable',
      }),
      we('9d 01:15', 'Hello Noor! Seven weeks for six. I can hold a slot in the workshop until Friday.'),
      they('9d 00:50', 'Please hold it. The committee meets next week.'),
      we('9d 00:41', 'It is yours until then.'),
      shop('2d 01:50', 'order_update', { body: ['E-0042', 'held until Friday'], buttonParams: { 0: 'E-0042' } }),
    ],
  },
  {
    with: 'hannah',
    channel: 'msgapp',
    status: 'closed',
    assignee: 'alex',
    closings: [
      closed('6d 05:05', 'alex'),
      rated('3d 03:39', macro, 5, 'My sister and I laughed all evening. See you next month!'),
    ],
    lines: [
      they('6d 05:20', 'Is there a place left in the throwing class on Thursday evening?'),
      alex('6d 05:16', 'Two, actually. Shall I sign you up?'),
      they('6d 05:14', 'Both please! My sister comes along.'),
      alex('6d 05:10', 'You are in: Thursday, 18:30. Wear something that may get muddy.'),
      they('6d 05:08', '😂', { reacts: 3 }),
      they('3d 04:10', 'That was SO much fun. When is the next one?'),
      alex('3d 03:40', 'So good to hear! First Thursday of next month, I will keep two wheels for you.'),
    ],
  },
  {
    with: 'daniel',
    channel: 'msgapp',
    status: 'closed',
    assignee: 'sam',
    closings: [rated('2d 05:01', macro, 5)],
    lines: [
      they('2d 05:40', 'Hello, do you have gift cards?'),
      sam('2d 05:37', 'Hi Daniel, we do, from 25 up, on paper or by mail.'),
      they('2d 05:30', 'One for 100 by mail then, for my mum. How do I pay?'),
      sam('2d 05:22', 'Here you go: https://shop.example/gift-cards. It reaches you within minutes.'),
      they('2d 05:02', 'Done. Thanks for the quick help!'),
    ],
  },
  {
    with: 'grace',
    channel: 'msgapp',
    status: 'closed',
    closings: [closed('11d 01:30', 'alex')],
    lines: [
      shop('11d 02:10', 'order_update', { body: ['C-3255', 'on its way'], buttonParams: { 0: 'C-3255' } }),
      they('11d 01:40', 'STOP'),
    ],
  },
  {
    with: 'marta',
    channel: 'msgapp',
    status: 'closed',
    labels: ['Delivery'],
    assignee: 'alex',
    team: 'sales',
    closings: [closed('12d 21:50', 'alex'), closed('10d 05:00', 'alex')],
    lines: [
      they('12d 22:30', 'Good morning, could we get 30 more of the bud vases, mixed colours?'),
      alex('12d 21:55', 'Good morning Marta! Yes, 30 are on the shelf. They leave tomorrow.'),
      shop('11d 22:00', 'order_update', { body: ['D-0921', 'on its way'], buttonParams: { 0: 'D-0921' } }),
      they('10d 05:10', 'Arrived, thank you. They sell faster than the flowers 😅'),
    ],
  },
  {
    with: 'isabel',
    channel: 'msgapp',
    status: 'open',
    assignee: 'sam',
    closings: [rated('4d 19:50', 'sam', 3)],
    lines: [
      they('4d 20:10', 'Will there be a wheel to try at the open studio? My daughter is nine.'),
      sam('4d 20:02', 'There will, from eleven to three, and nine is a perfect age for it.'),
      they('4d 20:00', '😍', { reacts: 1 }),
      they('1d 06:30', 'She has not stopped talking about her bowl. When will it be fired?'),
      sam('1d 06:12', 'It comes out of the kiln on Friday. We will write as soon as it has cooled down.'),
    ],
  },
  {
    with: 'oliver',
    channel: 'msgapp',
    status: 'closed',
    labels: ['Delivery'],
    assignee: 'alex',
    closings: [closed('13d 04:36', 'alex'), asked('13d 04:20', 'alex')],
    lines: [
      they('13d 05:30', 'G’day, what does shipping a teapot to Melbourne come to?'),
      alex('13d 04:40', 'Hi Oliver! 38 with insurance, about ten days.'),
      they('13d 04:31', 'Fair enough, ordering now.'),
      shop('13d 04:10', 'order_confirmed', { body: ['Oliver', 'C-3264'] }),
    ],
  },
  {
    with: 'george',
    channel: 'msgapp',
    status: 'open',
    assignee: 'alex',
    team: 'sales',
    labels: ['Made to order'],
    lines: [
      they('1d 08:00', 'Hello friends, the olive bowls are a hit. 40 more, same as last time?'),
      alex('1d 07:25', 'Hello George! With pleasure, same price. Ready in three weeks.'),
      they('1d 07:21', 'Take your time, make them beautiful.'),
      alex('1d 07:15', 'We will. You get a picture when they come out of the kiln.'),
    ],
  },
  {
    with: 'sofia',
    channel: 'social',
    status: 'open',
    assignee: 'owner',
    closings: [asked('7d 00:20', 'owner')],
    labels: ['Made to order'],
    unread: 1,
    lines: [
      they('7d 01:00', 'The green lamp base in your last post!! Is it for sale?'),
      we('7d 00:41', 'Hi Sofia! It is, 140 with the linen shade. There are three.'),
      they('7d 00:38', 'I need to think where it goes… can you hold one until the weekend?'),
      we('7d 00:30', 'Held for you.'),
      they('0d 02:20', 'It goes next to the sofa 😁 I would like to take it. Can I pay on collection?'),
    ],
  },
  {
    with: 'tilda',
    channel: 'social',
    status: 'closed',
    assignee: 'alex',
    closings: [asked('10d 00:30', 'alex')],
    lines: [
      they('10d 01:00', 'Do you ever do classes in English?'),
      alex('10d 00:44', 'All of them are! The next one for beginners is on the first Thursday.'),
      they('10d 00:40', 'Amazing, put me on the list for the open studio too please'),
      alex('10d 00:35', 'With pleasure, see you there.'),
    ],
  },
  {
    with: 'kit',
    channel: 'social',
    status: 'open',
    unread: 2,
    lines: [
      they('0d 04:05', 'hey! potter from Leeds here, which clay body is that on the blue series?'),
      they('0d 04:04', 'the surface is unreal'),
    ],
  },
  {
    with: 'yuki',
    channel: 'web',
    status: 'closed',
    assignee: 'sam',
    closings: [rated('4d 02:53', macro, 4)],
    lines: [
      they('4d 03:00', 'Hello, do you restore old chairs as well? Two legs are loose.'),
      sam('4d 02:57', 'Hello Yuki! We do, from 45 a chair. Could you bring them by?'),
      they('4d 02:55', 'Yes, tomorrow afternoon.'),
      sam('4d 02:54', 'Perfect. Ring at the yard door, we will hear you over the saw 🙂'),
    ],
  },
  {
    with: 'leo',
    channel: 'web',
    status: 'open',
    assignee: 'sam',
    labels: ['Made to order'],
    unread: 1,
    lines: [
      they('0d 00:35', 'Hi, is the oak shelf also available with five boards instead of four?'),
      sam('0d 00:33', 'Hi Leo, it is: 35 more, and two weeks instead of one. Shall I send you a drawing?'),
      they('0d 00:31', 'Yes please! 84 cm wide would be ideal.'),
    ],
  },
  {
    with: 'rachel',
    channel: 'web',
    status: 'pending',
    assignee: 'alex',
    closings: [asked('9d 04:00', 'alex')],
    labels: ['Made to order'],
    snoozedFor: '1d 02:00',
    lines: [
      they('9d 04:20', 'What is the return policy for sale items?'),
      alex('9d 04:15', 'Thirty days, like everything else, as long as it is unused.'),
      they('2d 22:10', 'I would like to return the two small trays then. How does it work?'),
      alex('2d 21:48', 'I have mailed you a label just now. Drop them at any parcel shop.'),
    ],
  },
]
