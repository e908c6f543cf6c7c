import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileNameOf, formatFile, listDifferences } from './automation-files.ts'

test('a file name has the words of the name, and is not taken', () => {
  const cases: [string, string][] = [
    ['Welcome menu', 'welcome-menu.json'],
    ['  Überblick: Größe!', 'uberblick-große.json'],
    ['../../etc/passwd', 'etc-passwd.json'],
    ['C:\\con', 'c-con.json'],
    ['🙂', 'automation.json'],
    ['挨拶', '挨拶.json'],
    ['x'.repeat(100), `${'x'.repeat(60)}.json`],
  ]
  for (const [name, file] of cases) assert.equal(fileNameOf(name, new Set()), file)
  assert.equal(fileNameOf('a', new Set(['a.json', 'a-2.json'])), 'a-3.json')
})

test('the text of a file has one order of fields', () => {
  const text = formatFile({ definition: { trigger: {} }, position: 1, name: 'x', description: '' })
  assert.equal(
    text,
    '{\n  "name": "x",\n  "description": "",\n  "position": 1,\n  "definition": {\n    "trigger": {}\n  }\n}\n',
  )
})

test('differences are named by their paths, at most five', () => {
  const before = { trigger: { type: 'manual' }, steps: [{ type: 'note', text: 'a' }] }
  const after = { steps: [{ text: 'b', type: 'note' }, { type: 'end' }], trigger: { type: 'manual' } }
  assert.deepEqual(listDifferences(before, after), ['steps[0].text', 'steps[1]'])
  assert.deepEqual(listDifferences(before, structuredClone(before)), [])
  assert.deepEqual(listDifferences(undefined, before), [''])
  const many = Array.from({ length: 9 }, (_, i) => i)
  assert.deepEqual(listDifferences([], many), ['[0]', '[1]', '[2]', '[3]', '[4]', '…'])
})
