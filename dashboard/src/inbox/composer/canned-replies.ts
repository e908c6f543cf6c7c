/** Canned replies: which ones a search finds, and their variables, filled from the contact and the member. Pure functions. */
import type { ItemOf } from '../../lib/api.ts'

export type CannedReply = ItemOf<'GET /canned-replies'>

type Values = {
  contact: { name: string | null; phone: string | null; email: string | null; company: string | null }
  member: { name: string | null; email: string }
}

const variable = /\{\{\s*(contact|member)\.([a-z_]+)\s*(?:\|([^{}]*))?\}\}/g

/**
 * Replaces `{{contact.name|there}}`: the value, or the fallback when the contact has none. A variable without a value and
 * without a fallback stays, for the member to replace.
 */
export function fillVariables(text: string, values: Values): string {
  return text.replace(variable, (whole, owner: 'contact' | 'member', field: string, fallback: string | undefined) => {
    const fields: Record<string, string | null> = values[owner]
    const firstName = fields.name?.trim().split(/\s+/)[0]
    const value = field === 'first_name' ? firstName : Object.hasOwn(fields, field) ? fields[field]?.trim() : undefined
    return value || (fallback?.trim() ?? whole)
  })
}

/** The first variable that is still in the text: where it starts and ends. */
export function findVariable(text: string): { start: number; end: number } | undefined {
  const match = text.match(new RegExp(variable.source))
  return match?.index === undefined ? undefined : { start: match.index, end: match.index + match[0].length }
}

/** The replies that have the text in their shortcut or text; first those whose shortcut begins with it. */
export function findReplies(replies: readonly CannedReply[], search: string): CannedReply[] {
  const text = search.toLowerCase()
  const begins = ({ shortcut }: CannedReply) => shortcut.toLowerCase().startsWith(text)
  const matches = replies.filter((reply) => `${reply.shortcut} ${reply.text}`.toLowerCase().includes(text))
  return [...matches.filter(begins), ...matches.filter((reply) => !begins(reply))]
}

/** What the member searches in a reply that begins with a slash. Undefined: the reply is a text. */
export const readReplyQuery = (text: string): string | undefined => /^\/(?!\s)([^\n]*)$/.exec(text)?.[1]
