/** Uses the API with the types of `openapi-typescript` and its client `openapi-fetch`. */
import createClient from 'openapi-fetch'
import type { components, paths } from './generated/types.d.ts'

const { URL: baseUrl = '', KEY = '' } = process.env
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${KEY}` } })

const created = await client.POST('/contacts', { body: { phone: '+14155550191', name: 'Ada', tags: ['vip'] } })
const contact: components['schemas']['Contact'] | undefined = created.data?.data
const id = contact?.id ?? ''
const changed = await client.PATCH('/contacts/{id}', { params: { path: { id } }, body: { company: 'Engines' } })
const listed = await client.GET('/contacts', { params: { query: { tag: 'vip', limit: 10 } } })
const refused = await client.GET('/contacts/{id}', { params: { path: { id: crypto.randomUUID() } } })
const names: (string | null)[] | undefined = listed.data?.data.map(({ name }) => name)
console.log(JSON.stringify([created.response.status, changed.data?.data.company, names, refused.error?.error.code]))

/** Compiles only if the type has all events by their names, each with its own data. */
export function describeEvent(event: components['schemas']['Event']): string {
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
