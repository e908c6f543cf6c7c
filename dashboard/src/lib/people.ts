/** How a person is called, wherever one is shown. */
import { words } from '../words/words.ts'

type Person = { name: string | null; phone: string | null; social_username: string | null; email?: string | null }

export function nameOf({ name, phone, social_username: username, email }: Person): string {
  return name ?? phone ?? (username ? `@${username}` : (email ?? words.common.somebody))
}
