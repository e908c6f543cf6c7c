/** The texts of the panel that tries an automation on the past. */
import { countOf } from './count.ts'

const runs = countOf('run', 'runs')
const conversations = countOf('conversation', 'conversations')
const messages = countOf('message', 'messages')
const steps = countOf('step', 'steps')

export const automationDryRun = {
  title: 'Try it on the past',
  tab: 'Past messages',
  lead: 'Shows what this automation would have done in the last 7 days. Nothing is sent or changed.',
  action: 'Try on the last 7 days',
  again: 'Try again',
  reading: 'Reading the messages of the last 7 days…',
  stale: 'The automation has changed since this result. Try again to see what it does now.',
  none: 'In the last 7 days it would have started no runs.',
  summary: (counts: { runs: number; conversations: number; messages: number }) =>
    `Would have started ${runs(counts.runs)} in ${conversations(counts.conversations)} and sent ${messages(counts.messages)}.`,
  incomplete: 'This is a part of the past. The notes below say what is missing.',
  ends: 'How the runs would have ended',
  open: 'Still open',
  reasons: {
    finished: 'Finished',
    handed_over: 'Handed over',
    person: 'Stopped by a person',
    timeout: 'No answer',
    opted_out: 'Opted out',
    failed: 'Failed',
    limit_messages: 'Too many messages',
    limit_chain: 'Too many in a row',
    call: 'Response not known',
  },
  runs: 'Runs, newest first',
  listed: (shown: number, all: number) =>
    shown < all ? `${shown.toLocaleString()} of ${runs(all)} are listed.` : undefined,
  unnamed: 'Contact without a name',
  conversation: (name: string) => `Open the conversation with ${name}`,
  steps,
  wrote: (text: string) => `Customer: ${text}`,
  more: (count: number) => `Show ${count.toLocaleString()} more`,
  notes: 'What a dry run cannot know',
  step: {
    send: 'Message',
    ask: 'Question',
    branch: 'Branch',
    wait: 'Wait',
    set: 'Change',
    note: 'Note',
    call: 'Call',
    hand_over: 'Hand over',
    end: 'End',
  } as Record<string, string>,
  outcomes: { answered: 'Answer', repeated: 'Asked again', failed: 'Failed', stopped: 'Stopped' } as Record<
    string,
    string
  >,
}
