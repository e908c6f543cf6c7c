/** The first steps in a new workspace. */
export const checklist = {
  title: 'First steps',
  progress: (done: number, all: number) => `${done} of ${all} done`,
  done: 'Done',
  open: 'To do',
  hide: 'Hide first steps',
  allDone: 'You are all set.',
  allDoneText: 'Messages go out, customers are heard, and your systems know of it.',
  steps: {
    message_sent: {
      title: 'Send a message',
      text: 'Answer somebody in the inbox, or post to /v1/messages.',
      link: 'See how',
    },
    customer_wrote: {
      title: 'Hear from a customer',
      text: 'Pick up a phone on the simulator page and write back.',
      link: 'Open the phones',
      elsewhere: 'Connect a channel, and whatever customers write arrives here.',
      elsewhereLink: 'See channels',
    },
    key_made: {
      title: 'Make an API key',
      text: 'For your own server, with just what it may do.',
      link: 'Make a key',
    },
    webhook_delivered: {
      title: 'Receive a webhook',
      text: 'Have your server told, signed, of every message; on your own machine: npx parley listen.',
      link: 'Add a webhook',
    },
  },
}
