/** Uses the API with the client of `openapi-generator`, `typescript-fetch`. */
import { Configuration, ContactsApi } from './generated/index.js'

const { URL: basePath = '', KEY = '' } = process.env
const contacts = new ContactsApi(new Configuration({ basePath, accessToken: KEY }))
const created = await contacts.createContactRaw({ newContact: { phone: '+14155550191', name: 'Ada' } })
const { id } = (await created.value()).data
const read = await contacts.getContact({ id })
console.log(JSON.stringify([created.raw.status, read.data.name]))
