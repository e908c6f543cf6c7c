/** Finds the mention that the member is typing, and the members who match it. Pure functions. */

export type Mentionable = { id: string; name: string; email: string }

/** `@` at the start of a word, and what follows it up to the caret: at most two words, because names have spaces. */
const typed = /(?:^|[\s(])@((?:[^\s@]+ ?)?[^\s@]*)$/u

export type MentionQuery = { start: number; text: string }

/** The mention before the caret, or undefined. `start` is the index of its `@`. */
export function readMentionQuery(text: string, caret: number): MentionQuery | undefined {
  const query = typed.exec(text.slice(0, caret))?.[1]
  return query === undefined ? undefined : { start: caret - query.length - 1, text: query }
}

const maxMatches = 6

/** The members whose name has a word that starts with the query, or whose email address does. */
export function matchMembers<Member extends Mentionable>(members: readonly Member[], query: string): Member[] {
  const key = query.toLowerCase().trimEnd()
  return members
    .filter(({ name, email }) => {
      const folded = name.toLowerCase()
      return folded.startsWith(key) || folded.includes(` ${key}`) || email.toLowerCase().startsWith(key)
    })
    .slice(0, maxMatches)
}

/** The text with the mention completed, and where the caret belongs. */
export function completeMention(text: string, caret: number, { start }: MentionQuery, name: string) {
  const before = `${text.slice(0, start)}@${name} `
  return { text: before + text.slice(caret).replace(/^ /, ''), caret: before.length }
}

/** Splits a note at the mentions of these names, for highlighting. Longer names are matched first. */
export function splitAtMentions(text: string, names: readonly string[]): { text: string; isMention: boolean }[] {
  const parts: { text: string; isMention: boolean }[] = []
  const sorted = names.toSorted((one, other) => other.length - one.length).map((name) => `@${name}`)
  let end = 0
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', Math.max(at + 1, end))) {
    const mention = sorted.find((name) => text.startsWith(name, at))
    if (!mention) continue
    if (at > end) parts.push({ text: text.slice(end, at), isMention: false })
    parts.push({ text: mention, isMention: true })
    end = at + mention.length
  }
  if (end < text.length) parts.push({ text: text.slice(end), isMention: false })
  return parts
}
