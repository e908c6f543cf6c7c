/** The phone beside the editor of an automation: the preview of its draft. */
const reasons: Record<string, string> = {
  finished: 'Finished',
  handed_over: 'Handed over to the team',
  person: 'Stopped by a member',
  timeout: 'Ended: no answer',
  opted_out: 'Ended: the customer opted out',
  failed: 'Failed',
  limit_messages: 'Stopped: too many messages within an hour',
  limit_chain: 'Not started: it caused itself too often',
  limit_runs: 'Not started: too many runs',
}

type Trigger = { type: string; event: string | null; after: string | null; name: string | null }

const events: Record<string, (name: string) => string> = {
  closed: () => 'Close the conversation',
  assigned: () => 'Assign the conversation',
  label_added: (name) => `Add the label “${name}”`,
  label_removed: (name) => `Remove the label “${name}”`,
  tag_added: (name) => `Add the tag “${name}”`,
  tag_removed: (name) => `Remove the tag “${name}”`,
  attribute_changed: (name) => `Change the attribute “${name}”`,
  waiting: (after) => `The customer has waited for ${after}`,
  no_reply: (after) => `The customer has not replied for ${after}`,
  due: (before) => `A target is due in ${before}`,
  breached: () => 'A target is missed',
  window_ends: (after) => `The reply window ends in ${after}`,
}

export const automationPhone = {
  title: 'Phone',
  lead: 'Runs the draft on a simulated phone, as a customer would see it. Your contacts, conversations, counts and webhooks are not touched.',
  open: 'Start the preview',
  unavailable: 'This installation has no simulator',
  unavailableText:
    'The phone belongs to the simulator, which runs only with DEMO=1. Try the automation in an installation for tests: start one with npm start, copy the automation with npx parley automations pull and push, and open it there.',
  empty: 'There is nothing to preview yet',
  emptyText: 'Add a step first. The phone then runs the draft.',
  incomplete: 'The draft is not saved yet',
  incompleteText: 'Complete its steps first. The phone then runs the draft.',
  chat: 'Chat on the phone',
  noMessages: 'No messages yet.',
  customer: 'The customer',
  automation: 'The automation',
  notDelivered: (reason: string | null) => (reason ? `Not delivered: ${reason}` : 'Not delivered'),
  calls: 'The step “Call” calls the real URL, also in a preview. Its body then has run.preview: true.',
  write: 'Message of the customer',
  send: 'Send',
  /** What starts the automation, as a button. Undefined: a message of the customer. */
  start: ({ type, event, after, name }: Trigger): string | undefined =>
    type === 'manual'
      ? 'Start the automation'
      : type === 'rating'
        ? `The customer gives a rating of ${name ?? 1}`
        : events[event ?? '']?.(after ?? name ?? 'Preview'),
  hint: 'Write as the customer to start the automation.',
  startHint: 'This automation starts with the button above the text field.',
  running: 'Runs…',
  answer: (question: string) => `Waits for an answer to “${question}”`,
  anyAnswer: 'Waits for an answer',
  until: (time: string) => `Waits until ${time}`,
  callFailed: (reason: string, time: string) =>
    `The call of your server failed. ${reason.replace(/\.$/, '')}. Next try: ${time}`,
  skip: 'Skip waiting',
  skipAnswer: 'Skip: no answer',
  ended: (reason: string | null) => reasons[reason ?? ''] ?? 'Ended',
  notStarted: 'The automation has not started.',
  others: (count: number) => (count === 1 ? '1 other run is open' : `${count} other runs are open`),
  restart: 'Restart',
  restartHint: 'Starts with a new customer',
  log: 'Steps of the run',
}
