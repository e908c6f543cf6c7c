/** The names of contacts and members, the same on every page. */
import { words } from '../words/words.ts'

type Person = {
  id: string
  name: string | null
  phone: string | null
  social_username: string | null
  email?: string | null
}

/** The phone number or the username on the channel. */
export const handleOf = ({ phone, social_username: username }: Pick<Person, 'phone' | 'social_username'>): string =>
  phone || (username ? `@${username}` : '')

/** A visitor without a name gets the end of the id, which is random, as a code. */
export const nameOf = (person: Person): string =>
  person.name || handleOf(person) || person.email || words.common.visitor(person.id.slice(-4).toUpperCase())

export const memberName = ({ name, email }: { name: string | null; email: string }): string => name || email
