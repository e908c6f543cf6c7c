/** Storing customers' messages: batches of several workspaces, and contacts that are merged meanwhile. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDatabase } from '../../../tests/support.ts'
import { createWorkspace } from '../../accounts/workspaces.ts'
import { retryMoved } from '../../conversations/threads.ts'
import { newId } from '../../lib/id.ts'
import { toInbound } from './inbound.ts'
import { storeInbound } from './store-inbound.ts'

test('a message with the id of a message of another workspace is stored', async (t) => {
  const db = (await createDatabase(t)).connect(3)
  const addWorkspace = async () => {
    const owner = { email: `owner@${newId()}.test`, password: 'correct horse' }
    return (await db.begin((sql) => createWorkspace(sql, { name: 'Acme', default_country: 'US', owner }))).workspace_id
  }
  const [one, other] = [await addWorkspace(), await addWorkspace()]
  const hello = (workspaceId: string) =>
    toInbound(
      { workspace_id: workspaceId, channel: 'msgapp', automations_version: null },
      {
        kind: 'message',
        from: { phone: '+14155550100', user_id: null, name: null, username: null },
        external_id: 'wamid.1',
        at: new Date().toISOString(),
        content_type: 'text',
        content_text: 'Hello',
        content: null,
        media: null,
        reply_to: null,
        interactive_reply_id: null,
      },
    )
  const store = (...workspaceIds: string[]) =>
    storeInbound(db, workspaceIds.map(hello), { publicUrl: 'https://parley.test', findStarts: async () => [] })
  const [first] = await store(one)
  assert.ok(first)
  // The customer has another number now, and the provider repeats the message.
  await db`delete from contact_identities where workspace_id = ${one}`
  const [repeated, stored] = await store(one, other)
  assert.equal(repeated, undefined)
  assert.ok(stored)
  const contacts = await db`select workspace_id from contacts order by workspace_id`
  assert.equal(contacts.length, 2, 'a repeated message creates no contact')
})

test('a contact that is merged again and again is followed at most five times', async () => {
  let attempts = 0
  const loseRace = async () => {
    attempts++
    return undefined
  }
  await assert.rejects(retryMoved(loseRace), /erased or merged/)
  assert.equal(attempts, 5)
})
