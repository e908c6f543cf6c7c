/** A preview of an automation in a service with several processes, whose simulator needs a session: killed in the middle of a run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { demoOf } from '../demo.ts'
import { createFolder } from '../folder.ts'
import { createService } from '../program.ts'
import { createBrowser, createDatabase, type Json, until } from '../support.ts'

const say = (text: string) => ({ type: 'send', message: { type: 'text', text } })

test('killed in a preview: the run goes on after the restart, and the preview ends by itself', async (t) => {
  const database = await createDatabase(t)
  const db = database.connect(1)
  const dataDir = createFolder(t)
  const service = await createService(t, {
    ...{ DATABASE_URL: database.url, ENCRYPTION_KEY: 'cd'.repeat(32), DATA_DIR: dataDir, DEMO: '1', PROCESSES: '2' },
    // Other machines reach it, so its simulator needs the session of the owner of the demo, or the token of an account.
    HOST: '0.0.0.0',
    PARLEY_TEST_TIME_DIVISOR: '60',
  })
  await service.start()
  const demo = demoOf(dataDir)
  const signIn = async () => {
    const browser = createBrowser(service.url, service.url)
    assert.equal((await browser.signIn(demo.owner)).status, 200)
    return browser
  }
  const browser = await signIn()
  const definition = {
    trigger: { type: 'message' },
    steps: [say('One.'), { type: 'wait', for: '2h' }, say('Two.')],
  }
  const { data: automation } = await browser.ask('POST', '/automations', { name: 'Tried', definition }, 201)
  const path = `/automations/${automation.id}/preview`
  await browser.ask('POST', path)
  await browser.ask('POST', `${path}/messages`, { text: 'hi' })
  const shows = (what: string, isThere: (preview: Json) => unknown) =>
    until(what, async () => isThere((await browser.ask('GET', path)).data))
  await shows('the pause', (preview) => preview.waits_for === 'time')

  await service.kill('SIGKILL')
  await service.start()
  const { data: preview } = await browser.ask('GET', path)
  assert.deepEqual([preview.run.state, preview.messages.length], ['waiting', 2])
  await browser.ask('POST', `${path}/skip`)
  await shows('the end', (now) => now.run.reason === 'finished' && now.messages.at(-1).content_text === 'Two.')

  await db`update workspaces set preview_until = now() where id = ${automation.id}`
  await until('the preview to be deleted', async () => {
    const left = await db`select from workspaces where preview_of is not null`
    return left.length === 0
  })
  const rows = await db`select from automation_runs where workspace_id = ${automation.id}`
  assert.equal(rows.length, 0)
})
