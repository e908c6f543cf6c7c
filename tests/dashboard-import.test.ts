/** Imports in a real browser: a file is chosen, its columns are mapped, it is checked, imported and undone, also by keyboard alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, assertFits, openDashboard, skip, visit } from './dashboard.ts'
import { holdTransaction } from './database.ts'
import { createImporter } from './importing.ts'
import { createBrowser, pluck, until } from './support.ts'

const choose = (page: Page, text: string | Buffer, name = 'people.csv') =>
  page.locator('input[type=file]').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) })

const countOf = (page: Page, name: string) => page.locator(`.imports-counts [data-name="${name}"] strong`).innerText()

test('a file is mapped, checked with a reason for rejected rows, imported and undone', { skip }, async (t) => {
  const { page, api, window, member } = await openDashboard(t, '/contacts/import', { dark: true })
  await api.post('/contacts', { phone: '+14155550103', name: 'Di' })
  await page.getByText('No imports yet').waitFor()
  await choose(page, 'phone,name\n"open\n')
  await page.getByText('File: line 2: a quote is opened and never closed').waitFor()
  const file = [
    'Phone;Name;Tags;Shoe size',
    '+14155550101;"Bo; Larsen";VIP|New;42',
    '12;No One;;',
    '+14155550102;Cy;;',
    '+14155550103;Dina;;',
  ].join('\r\n')
  await choose(page, file)
  await page.getByRole('heading', { name: 'people.csv' }).waitFor()
  const address = page.url()
  assert.match(address, /\/contacts\/import\/[0-9a-f-]{36}$/)
  assert.equal(await page.getByLabel('What Phone becomes').inputValue(), 'phone')
  assert.equal(await page.getByLabel('Separator of tags in Tags').inputValue(), '|')
  assert.equal(await page.getByLabel('What Shoe size becomes').inputValue(), 'nothing')
  await page.getByLabel('What Shoe size becomes').selectOption('Attribute')
  assert.equal(await page.getByLabel('Name of the attribute for Shoe size').inputValue(), 'shoe_size')
  assert.equal(await page.getByLabel('Type of the attribute for Shoe size').inputValue(), 'number')
  await assertAccessible(page)
  await page.getByLabel('What Name becomes').selectOption('Phone')
  await page.getByRole('button', { name: 'Check file' }).click()
  await page.getByText('Mapping: two columns are mapped to phone').waitFor()
  await page.getByLabel('What Name becomes').selectOption('Name')
  await page.getByLabel('Tag for all contacts of the file').fill('Fair')
  await page.getByLabel('Remember this mapping').check()
  await page.getByRole('button', { name: 'Check file' }).click()

  await page.getByRole('heading', { name: 'Review the result' }).waitFor()
  await page.getByText('phone: not a phone number').waitFor()
  const counts = await Promise.all(['created', 'changed', 'rejected'].map((name) => countOf(page, name)))
  assert.deepEqual(counts, ['2', '1', '1'])
  await assertAccessible(page)
  assert.equal((await api.get('/contacts')).body.data.length, 1, 'nothing is changed before')
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download rejected rows' }).click(),
  ])
  assert.equal(download.suggestedFilename(), 'rejected-rows.csv')
  // The page has its own address: a reload continues here.
  await page.goto(address)
  await page.getByRole('button', { name: 'Import 3 contacts' }).click()
  await page.getByRole('heading', { name: 'Result', exact: true }).waitFor()
  const { data } = (await api.get('/contacts')).body
  assert.deepEqual(pluck(data, 'name').sort(), ['Bo; Larsen', 'Cy', 'Dina'])
  assert.deepEqual(data.find(({ name }: { name: string }) => name === 'Bo; Larsen').attributes, { shoe_size: 42 })
  await assertAccessible(page)

  await page.getByRole('button', { name: 'Undo import' }).click()
  await page.getByText(/2 contacts that it created will be erased, and 1 contact that it changed/).waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Undo import' }).click()
  await page.getByText('Nothing stays').waitFor()
  assert.deepEqual([await countOf(page, 'erased'), await countOf(page, 'restored')], ['2', '1'])
  assert.deepEqual(pluck((await api.get('/contacts')).body.data, 'name'), ['Di'])

  await visit(page, '/contacts/import')
  await page.getByRole('link', { name: 'people.csv' }).waitFor()
  await page.getByText('Undone').waitFor()
  await choose(page, file)
  await page.getByText('The mapping that was saved for this header is selected.').waitFor()
  assert.equal(await page.getByLabel('What Shoe size becomes').inputValue(), 'attribute')
  // With commas, the quotes of this file are wrong.
  await page.getByLabel('Columns are separated by').selectOption('Comma')
  await page.getByText('a quote is inside a cell that does not begin with one').waitFor()
  assert.equal(await page.getByLabel('Columns are separated by').inputValue(), ';')
  await visit(page, '/contacts/import')
  await choose(page, 'Phone;Name\n+14155550101;Bo\n', 'plain.csv')
  await page.getByRole('heading', { name: 'plain.csv' }).waitFor()
  await page.getByLabel('Columns are separated by').selectOption('Comma')
  await page.getByText('1 column.').waitFor()
  await page.getByRole('button', { name: 'Delete file' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete file' }).click()
  await page.getByRole('heading', { name: 'Import contacts' }).waitFor()

  const agent = await window({ as: await member('agent') })
  await agent.goto('/contacts')
  await agent.getByRole('link', { name: 'Di' }).waitFor()
  assert.equal(await agent.getByRole('link', { name: 'Import' }).count(), 0)
  await agent.goto('/contacts/import')
  await agent.getByText('Owners and admins import contacts').waitFor()
})

test('progress is shown, survives a reload, and an import is canceled', { skip }, async (t) => {
  const { page, api, database, url, owner } = await openDashboard(t, '/')
  const contact = (await api.post('/contacts', { phone: '+14155550100', name: 'Ann' })).body.data
  const browser = createBrowser(url, url)
  await browser.signIn(owner)
  const rows = Array.from({ length: 2_500 }, (_, i) => `+1212${5_000_000 + i},N${i}\n`).join('')
  const { id } = await createImporter(browser).check(`phone,name\n${rows}+14155550100,Changed\n`)
  const release = await holdTransaction(
    database.connect(1),
    `select from contacts where workspace_id = '${api.workspaceId}' and id = '${contact.id}' for update`,
  )
  await visit(page, `/contacts/import/${id}`)
  await page.getByRole('button', { name: 'Import 2,501 contacts' }).click()
  await page.getByText(/2,000 of 2,501 rows/).waitFor()
  await page.reload()
  await page.getByText(/2,000 of 2,501 rows/).waitFor()
  const bar = page.getByRole('progressbar', { name: 'Importing contacts' })
  assert.deepEqual([await bar.getAttribute('aria-valuenow'), await bar.getAttribute('aria-valuemax')], ['2000', '2501'])
  await assertAccessible(page)
  await page.setViewportSize({ width: 390, height: 844 })
  await assertFits(page)
  await page.getByRole('button', { name: 'Cancel import' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel import' }).click()
  await page.getByText('The import was canceled.').waitFor()
  await release()
  assert.equal(await countOf(page, 'created'), '2,000')
  await until('the contact to be as it was', async () => {
    const { name } = (await api.get(`/contacts/${contact.id}`)).body.data
    return name === 'Ann'
  })
})

test('an import is done by keyboard alone, and what an undo keeps is listed', { skip }, async (t) => {
  const { page, api } = await openDashboard(t, '/contacts/import')
  // The file dialog of the browser is the only part that keys cannot reach in a test.
  await choose(page, 'phone,full name,size\n+14155550101,Ann,12\n+14155550102,Bo,13\n')
  const target = page.getByLabel('What size becomes')
  await target.focus()
  await page.keyboard.type('Attr')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Control+a')
  await page.keyboard.type('shoe_size')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Review the result' }).waitFor()
  await page.getByRole('button', { name: 'Import 2 contacts' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Result', exact: true }).waitFor()
  const contacts = (await api.get('/contacts')).body.data
  assert.deepEqual(pluck(contacts, 'attributes'), [{ shoe_size: 13 }, { shoe_size: 12 }])
  await api.patch(`/contacts/${contacts[1].id}`, { company: 'Acme' })
  await page.getByRole('button', { name: 'Undo import' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Undo import' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'What stays, and why' }).waitFor()
  await page.getByText('It was changed after the import.').waitFor()
  await page.getByRole('link', { name: 'Ann' }).press('Enter')
  await page.getByRole('heading', { name: 'Ann' }).waitFor()
})
