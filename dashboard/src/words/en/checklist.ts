/** The onboarding checklist. Its steps have the names that the service gives them. */
export const checklist = {
  title: 'Get started',
  progress: (done: number, all: number) => `${done} of ${all} completed`,
  done: 'Completed',
  open: 'To do',
  hide: 'Hide checklist',
  allDone: 'Setup complete',
  allDoneText: 'You can send and receive messages, and your server receives events.',
  agentDoneText: 'You are ready to answer customers.',
  steps: {
    message_sent: {
      title: 'Send a message',
      text: 'Reply to a customer in the inbox, or call `POST /v1/messages`.',
      link: 'View API reference',
      inboxLink: 'Open inbox',
    },
    customer_wrote: {
      title: 'Receive a message',
      text: 'Open the simulator and write as a customer.',
      link: 'Open simulator',
      withoutSimulator: 'Connect a channel. Messages from customers arrive in the inbox.',
      withoutSimulatorLink: 'View channels',
    },
    key_made: {
      title: 'Create an API key',
      text: 'Give your server access with only the scopes it needs.',
      link: 'Create API key',
    },
    webhook_delivered: {
      title: 'Receive a webhook',
      text: 'Parley sends each event to your server as a signed request.',
      link: 'Add endpoint',
    },
    conversation_taken: {
      title: 'Take a conversation',
      text: 'Open an unassigned conversation and assign it to yourself.',
      link: 'View unassigned',
    },
    customer_answered: {
      title: 'Answer a customer',
      text: 'Reply in one of your conversations. Your team sees who answered.',
      link: 'View your conversations',
    },
    reply_saved: {
      title: 'Save a canned reply',
      text: 'Type `/` in the reply box to insert a text that you use often.',
      link: 'View canned replies',
    },
    notifications_chosen: {
      title: 'Choose your notifications',
      text: 'All conversations, only yours, or only notes that mention you.',
      link: 'View notifications',
    },
  },
}
