/** Uses the API with the client of `@hey-api/openapi-ts`. */
import { client } from './generated/hey-api/client.gen.ts'
import { createContact, type Event, getContact, listContacts, updateContact } from './generated/hey-api/index.ts'

const { URL: baseUrl = '', KEY = '' } = process.env
client.setConfig({ baseUrl, auth: () => KEY })

const created = await createContact({ body: { phone: '+14155550192', name: 'Ben', tags: ['vip'] } })
const id: string = created.data?.data.id ?? ''
const changed = await updateContact({ path: { id }, body: { company: 'Engines' } })
const listed = await listContacts({ query: { tag: 'vip', limit: 10 } })
const refused = await getContact({ path: { id: crypto.randomUUID() } })
const names: (string | null)[] | undefined = listed.data?.data.map(({ name }) => name)
console.log(JSON.stringify([created.response?.status, changed.data?.data.company, names, refused.error?.error.code]))

/** Compiles only if the type has all events by their names, each with its own data. */
export function describeEvent(event: Event): string {
  switch (event.event) {
    case 'message.received':
      return event.data.text ?? ''
    case 'message.status_updated':
      return event.data.status
    case 'conversation.created':
      return event.data.conversation.channel
    case 'contact.created':
      return event.data.contact.id
    default:
      return event satisfies never
  }
}
