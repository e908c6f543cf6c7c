/** How people are called, wherever they are shown. */
import { words } from '../words/words.ts'

type Person = { name: string | null; phone: string | null; social_username: string | null; email?: string | null }

/** How the channel knows them. */
export const handleOf = ({ phone, social_username: username }: Pick<Person, 'phone' | 'social_username'>): string =>
  phone || (username ? `@${username}` : '')

export const nameOf = (person: Person): string =>
  person.name || handleOf(person) || person.email || words.common.somebody

export const memberName = ({ name, email }: { name: string | null; email: string }): string => name || email
