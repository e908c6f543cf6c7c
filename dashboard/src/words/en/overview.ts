import { countOf } from './count.ts'

const days = (number: number) => `${number} days`

/** Takes the formatted number and, for the plural, the number itself. */
const replies = (formatted: string, number: number) => `${formatted} ${number === 1 ? 'reply' : 'replies'}`

export const overview = {
  title: 'Overview',
  lead: 'Message volume, delivery and response times. Days are in UTC.',
  range: 'Date range',
  ranges: { '7': '7 days', '30': '30 days', '90': '90 days' },
  headline: 'Key metrics',
  tiles: {
    received: 'Messages received',
    sent: 'Messages sent',
    delivered: 'Delivered',
    ofSent: (sent: string) => `of ${sent} sent`,
    nothingSent: 'No messages sent yet',
    answer: 'Average response time',
    noAnswers: 'No replies yet',
    answers: replies,
    open: 'Open conversations',
    toOpen: 'View in inbox',
    unassigned: 'Unassigned conversations',
    toUnassigned: 'View in inbox',
    noneWaiting: 'All assigned',
  },
  change: {
    up: (share: string, number: number) => `Up ${share} in ${days(number)}`,
    down: (share: string, number: number) => `Down ${share} in ${days(number)}`,
    same: (number: number) => `Unchanged in ${days(number)}`,
    about: (number: number) => `Last ${days(number)} compared with the previous ${days(number)}`,
  },
  traffic: {
    title: 'Messages per day',
    show: 'Direction',
    both: 'All',
    received: 'Received',
    sent: 'Sent',
    asTable: 'Table',
    asChart: 'Chart',
    chart: 'Messages per day. Use the arrow keys to move between days.',
    dayText: (day: string, received: number, sent: number) => `${day}: ${received} received, ${sent} sent`,
    dayTextOf: (day: string, number: number, what: string) => `${day}: ${number} ${what.toLowerCase()}`,
    table: 'Messages per day and channel',
    day: 'Day',
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
      sent: 'Accepted by the channel, without the web chat',
      delivered: 'Received on the customer’s device',
      read: 'Opened by the customer',
      failed: 'Could not be delivered',
    },
    none: 'No messages were sent in this period.',
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
