/** Uses the API with the client of `orval`. */
import { createContact, getContact, listContacts, updateContact } from './generated/orval.ts'

const options = { headers: { authorization: `Bearer ${process.env.KEY}` } }

const created = await createContact({ phone: '+14155550193', name: 'Cy', tags: ['vip'] }, options)
const id: string = created.status === 201 ? created.data.data.id : ''
const changed = await updateContact(id, { company: 'Engines' }, options)
const company: string | null = changed.status === 200 ? changed.data.data.company : null
const listed = await listContacts({ tag: 'vip', limit: 10 }, options)
const names: (string | null)[] = listed.status === 200 ? listed.data.data.map(({ name }) => name) : []
const refused = await getContact(crypto.randomUUID(), options)
console.log(JSON.stringify([created.status, company, names, refused.status === 404 && refused.data.error.code]))
