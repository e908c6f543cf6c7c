/** The names of contacts and members, the same on every page. */
import { words } from '../words/words.ts'

type Person = {
  id: string
  name: string | null
  phone: string | null
  social_username: string | null
  /** On the primary channel. */
  username?: string | null
  email?: string | null
}

/** The phone number or the username on the channel. */
export function handleOf({ phone, social_username, username }: Omit<Person, 'id' | 'name' | 'email'>): string {
  const shown = social_username || username
  return phone || (shown ? `@${shown}` : '')
}

/** The usernames on all channels, as one text. */
export const usernamesOf = ({ social_username, username }: Pick<Person, 'social_username' | 'username'>): string =>
  [...new Set([social_username, username])].flatMap((each) => (each ? `@${each}` : [])).join(', ')

/** A visitor without a name gets the end of the id, which is random, as a code. */
export const nameOf = (person: Person): string =>
  person.name || handleOf(person) || person.email || words.common.visitor(person.id.slice(-4).toUpperCase())

export const memberName = ({ name, email }: { name: string | null; email: string }): string => name || email
