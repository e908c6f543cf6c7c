import { countOf } from './count.ts'

/** The period before ends at the same time of day. */
const before = (number: number) => (number === 1 ? 'yesterday at this time' : `the ${number} days before`)

/** Takes the formatted number and, for the plural, the number itself. */
const replies = (formatted: string, number: number) => `${formatted} ${number === 1 ? 'reply' : 'replies'}`

export const overview = {
  title: 'Overview',
  lead: 'Message volume, delivery and response times.',
  zone: (zone: string) => `Days are in ${zone.replaceAll('_', ' ')}.`,
  since: (day: string) => `Data since ${day}.`,
  range: 'Date range',
  ranges: { '1': 'Today', '7': '7 days', '30': '30 days', '90': '90 days' },
  connection: 'Connection',
  allConnections: 'All connections',
  headline: 'Key metrics',
  tiles: {
    received: 'Messages received',
    sent: 'Messages sent',
    delivered: 'Delivered',
    ofMessages: (formatted: string, number: number) =>
      `of ${formatted} ${number === 1 ? 'message' : 'messages'} outside the web chat`,
    ofSent: (formatted: string, number: number) => `of ${formatted} ${number === 1 ? 'message' : 'messages'}`,
    inWebChat: (formatted: string) => `${formatted} of them in the web chat`,
    nothingSent: 'No messages sent yet',
    answer: 'Average response time',
    noAnswers: 'No replies yet',
    answers: replies,
    open: 'Open conversations',
    toOpen: 'View in inbox',
    unassigned: 'Unassigned',
    toUnassigned: 'View in inbox',
    noneWaiting: 'All assigned',
  },
  change: {
    up: (share: string, number: number) => `Up ${share} from ${before(number)}`,
    down: (share: string, number: number) => `Down ${share} from ${before(number)}`,
    same: (number: number) => `Same as ${before(number)}`,
    about: (value: string, number: number) => `${value}${number === 1 ? '' : ' in'} ${before(number)}`,
  },
  traffic: {
    title: 'Messages per day',
    hourTitle: 'Messages per hour',
    show: 'Direction',
    both: 'All',
    received: 'Received',
    sent: 'Sent',
    asTable: 'Table',
    asChart: 'Chart',
    chart: 'Messages per day. Use the arrow keys to move between days.',
    hourChart: 'Messages per hour. Use the arrow keys to move between hours.',
    dayText: (day: string, received: number, sent: number) => `${day}: ${received} received, ${sent} sent`,
    dayTextOf: (day: string, number: number, what: string) => `${day}: ${number} ${what.toLowerCase()}`,
    table: 'Messages per day and channel',
    hourTable: 'Messages per hour and channel',
    day: 'Day',
    hour: 'Hour',
    total: 'Total',
    all: 'All',
  },
  funnel: {
    title: 'Delivery',
    sent: 'Sent',
    delivered: 'Delivered',
    read: 'Read',
    failed: 'Failed',
    hints: {
      sent: 'Accepted by the channel',
      delivered: 'Received on the customer’s device',
      read: 'Opened by the customer',
      failed: 'Could not be delivered',
    },
    none: 'No messages were sent outside the web chat in this period.',
    whole: (formatted: string) =>
      `Shares of ${formatted} messages sent outside the web chat, which reports no delivery.`,
    noneSent: 'No messages were sent in this period.',
    web: 'The web chat reports no delivery.',
    wholeOf: (formatted: string) => `Shares of ${formatted} messages sent.`,
    utc: 'Counted in whole days of UTC.',
    since: (day: string) => `Counted by connection since ${day}.`,
  },
  responses: {
    title: 'Response times',
    average: 'Average',
    within: { five_minutes: 'Within 5 minutes', one_hour: 'Within 1 hour', one_day: 'Within 1 day' },
    chart: 'Average response time per day. Use the arrow keys to move between days.',
    dayText: (day: string, span: string, number: number) =>
      `${day}: ${span} on average, ${countOf('reply', 'replies')(number)}`,
    noRepliesText: (day: string) => `${day}: no replies`,
    noAnswers: 'No replies',
    answers: replies,
    none: 'No replies were sent in this period.',
    note: 'Every reply counts here. Reports count the first reply of each episode.',
    toReports: 'View reports',
  },
  webhooks: {
    title: 'Webhooks',
    all: 'View all',
    none: 'No endpoints yet. Add one to send events to your own systems.',
    add: 'Add endpoint',
    waiting: (number: number) => (number >= 1_000 ? '1,000+ pending' : `${number.toLocaleString()} pending`),
    more: (number: number) => `${number} more`,
  },
  first: {
    title: 'No data yet',
    text: 'Metrics appear here as soon as messages are sent or received. To get started:',
    steps: {
      channel: { title: 'Connect a channel', text: 'The messaging app, social, or a chat on your website.' },
      contacts: { title: 'Add contacts', text: 'Import a list. Customers who write are added automatically.' },
    },
  },
}
