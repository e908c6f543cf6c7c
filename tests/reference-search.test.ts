/** The search of the reference: what it finds, in which order, and where the results lead. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiDocument } from '../reference/src/openapi.ts'
import { listEvents, listOperations } from '../reference/src/openapi.ts'
import { createIndex, maxResults, search } from '../reference/src/search.ts'

const contact = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    nickname: { type: 'string', description: 'What friends say.' },
    parent: { $ref: '#/components/schemas/Contact' },
  },
}
const document: ApiDocument = {
  info: { title: 'API', version: '1', description: 'Hosted by yourself.' },
  paths: {
    '/contacts': {
      get: {
        operationId: 'listContacts',
        tags: ['Contacts'],
        summary: 'List contacts',
        description: 'Newest first, with `zebra` stripes.',
        parameters: [{ name: 'kinship', in: 'query', description: 'Only relatives.', schema: { type: 'string' } }],
        responses: {
          200: {
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  properties: { data: { type: 'array', items: { $ref: '#/components/schemas/Contact' } } },
                },
              },
            },
          },
        },
      },
      post: {
        operationId: 'createContact',
        tags: ['Contacts'],
        summary: 'Create a contact',
        requestBody: {
          content: {
            'application/json': {
              schema: {
                type: 'object',
                properties: { shoe: { type: 'object', properties: { lace: { type: 'string' } } } },
              },
            },
          },
        },
        responses: {
          201: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Contact' } } } },
        },
      },
    },
  },
  components: { schemas: { Contact: contact } },
}
const index = createIndex(document, listOperations(document), listEvents(document))
const find = (query: string) =>
  search(index, query).results.map(({ entry }) => `${entry.kind} ${entry.title} #${entry.id}`)

test('texts of guides, operations, parameters, errors and fields are found, also nested and recursive ones', () => {
  assert.deepEqual(find('zebra'), ['Operation List contacts #operation-listContacts'])
  assert.deepEqual(find('relatives'), ['Operation List contacts #operation-listContacts'])
  assert.ok(find('nothing reached the channel').includes('Guide Did it send? #did-it-send'))
  assert.deepEqual(find('friends'), ['Field nickname #operation-listContacts'])
  assert.deepEqual(find('shoe.lace'), ['Field shoe.lace #operation-createContact'])
  assert.equal(find('plan_limit_reached')[0], 'Error plan_limit_reached #error-plan_limit_reached')
  assert.ok(
    find('backoff').length === 0 && find('constant time').includes('Guide Webhooks: verifying a delivery #verifying'),
  )
})

test('all words must match, heads come before texts, and case and marks do not matter', () => {
  assert.equal(find('post contacts')[0], 'Operation Create a contact #operation-createContact')
  assert.equal(find('NICKNAME')[0], 'Field nickname #operation-listContacts')
  assert.deepEqual(find('zebra nickname'), [])
  assert.deepEqual(find(' '), [])
  assert.deepEqual(find('(['), [])
})

test('a result shows the text around the match, and a long list is cut', () => {
  const [first] = search(index, 'zebra').results
  assert.deepEqual(first?.snippet, ['Newest first, with ', 'zebra', ' stripes. kinship Only relatives.'])
  const { results, count } = search(
    Array.from({ length: 100 }, (_, i) => ({
      id: `${i}`,
      kind: 'Field' as const,
      title: `a${i}`,
      head: `a${i}`,
      text: '',
    })),
    'a',
  )
  assert.deepEqual([results.length, count, results[0]?.entry.id], [maxResults, 100, '0'])
})
