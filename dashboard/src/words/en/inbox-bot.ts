/** The texts of conversations that are with the bot of an automation, and of automations that a member starts by hand. */
import { countOf } from './count.ts'

export const bot = {
  view: 'With the bot',
  sender: 'Bot',
  banner: 'Automation',
  answering: (name: string | undefined) => (name ? `“${name}” is answering` : 'An automation is answering'),
  showRun: 'Show run',
  toRun: 'Show what the automation did',
  takeOver: 'Take over',
  takenOver: 'You have taken over. The automation stopped.',
  notTakenOver: 'The automation could not be stopped. Try again.',
  automation: (name: string | undefined) => (name ? `The automation “${name}”` : 'An automation'),
}

const conversationCount = countOf('conversation', 'conversations')

export const macros = {
  command: (name: string) => `Run automation: ${name}`,
  started: (name: string, count: number) =>
    count === 1 ? `Started “${name}”` : `Started “${name}” on ${conversationCount(count)}`,
  notStarted: (total: number, reasons: readonly { reason: string; count: number }[]) =>
    `Not started on ${conversationCount(total)}: ${reasons
      .map(({ reason, count }) => (reasons.length === 1 ? reason : `${reason} (${count.toLocaleString()})`))
      .join(', ')}`,
}
