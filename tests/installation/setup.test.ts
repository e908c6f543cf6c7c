/** The first run of an installation with several processes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFolder } from '../folder.ts'
import { type Program, startService } from '../program.ts'
import { createBrowser, createDatabase } from '../support.ts'

test('processes that start on an empty database print the same setup link, and later ones none', async (t) => {
  const { url } = await createDatabase(t)
  const settings = { DATA_DIR: createFolder(t), DATABASE_URL: url, ENCRYPTION_KEY: 'ab'.repeat(32), ROLES: 'api' }
  const run = () => startService(t, settings)
  const tokenOf = ({ url, output }: Program): string => {
    const [, link = '', token = ''] = /First run +open (\S+\/setup\?token=([0-9A-Za-z]{22}))$/m.exec(output()) ?? []
    assert.equal(link, `${url}/setup?token=${token}`, output())
    return token
  }
  const [one, other] = await Promise.all([run(), run()])
  const token = tokenOf(one)
  assert.equal(tokenOf(other), token)
  const owner = { name: 'Ann', email: 'ann@first.test', password: 'correct horse' }
  const body = { token, workspace_name: 'First', default_country: 'DE', ...owner }
  const made = await createBrowser(other.url).call('POST', '/setup', body, { origin: other.url })
  assert.equal(made.status, 201, made.text)
  const { output } = await run()
  assert.doesNotMatch(output(), /setup|token/)
})
