/** The texts of automations that a member starts by hand. */
import { countOf } from './count.ts'

const conversationCount = countOf('conversation', 'conversations')

export const macros = {
  run: 'Run',
  command: (name: string) => `Run: ${name}`,
  started: (name: string, count: number) =>
    count === 1 ? `Started “${name}”` : `Started “${name}” on ${conversationCount(count)}`,
  notStarted: (total: number, reasons: readonly { reason: string; count: number }[]) =>
    `Not started on ${conversationCount(total)}: ${reasons
      .map(({ reason, count }) => (reasons.length === 1 ? reason : `${reason} (${count.toLocaleString()})`))
      .join(', ')}`,
}
