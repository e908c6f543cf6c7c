/** `/{account}/message_templates`: list, create and delete templates. Each change causes a callback. */
import type { ServerResponse } from 'node:http'
import { type AccountState, ownerOf, templateOwner } from '../state/accounts.ts'
import { failure } from '../wire/errors.ts'
import { type Json, sendJson, sendObject } from '../wire/http.ts'
import { wireJson } from '../wire/ids.ts'
import { parseTemplate, type Template, templateCallback, templateKey, templateResource } from '../wire/templates.ts'
import type { World } from '../world.ts'
import { journalFullFailure, sendFailure } from './answers.ts'

export async function listTemplates(
  world: World,
  state: AccountState,
  query: URLSearchParams,
  url: string,
  response: ServerResponse,
): Promise<void> {
  const matches = (template: Template) =>
    (['name', 'language', 'status', 'category'] as const).every(
      (field) => (query.get(field) ?? template[field]) === template[field],
    )
  const all = [...state.business.templates.values()].filter(matches)
  const limit = Math.min(Math.max(Math.trunc(Number(query.get('limit') ?? 25)) || 25, 1), 1000)
  const after = query.get('after')
  const from = after === null ? 0 : all.findIndex(({ id }) => cursorOf(id) === after) + 1
  if (after !== null && from === 0) return sendFailure(response, failure(100, 'after: not a cursor'))
  const page = all.slice(from, from + limit)
  const [first, last] = [page[0], page.at(-1)]
  const paging: Json = first && last ? { cursors: { before: cursorOf(first.id), after: cursorOf(last.id) } } : {}
  if (last && from + limit < all.length) {
    query.set('after', cursorOf(last.id))
    query.delete('access_token')
    paging.next = `${world.publicUrl()}${url.split('?')[0]}?${query}`
  }
  const fields = query.get('fields')?.split(',')
  const data = page.map((template) => {
    const entries = Object.entries(templateResource(template))
    return Object.fromEntries(fields ? entries.filter(([name]) => name === 'id' || fields.includes(name)) : entries)
  })
  sendObject(response, { data, ...(first ? { paging } : {}) })
}

const cursorOf = (id: string) => Buffer.from(`cursor:${id}`).toString('base64url')

export async function postTemplate(
  world: World,
  state: AccountState,
  values: Json,
  response: ServerResponse,
): Promise<void> {
  const { w, c, a } = ownerOf(state)
  const { templates } = state.business
  const template = parseTemplate(templateOwner({ w, c, a }), values, (key) => templates.has(key))
  if ('code' in template) return sendFailure(response, template)
  if (templates.size >= world.quotas.templates) {
    return sendFailure(response, failure(100, `at most ${world.quotas.templates} templates`, { subcode: 2388019 }))
  }
  if (!world.journal.hasCapacity()) return sendFailure(response, journalFullFailure(world))
  await world.journal.record(wireJson({ k: 't', w, a, template: templateResource(template) }))
  templates.set(templateKey(template), template)
  const { id, status, category } = template
  sendObject(response, { id, status, category })
  deliverTemplateStatus(world, state, template, status)
}

export async function deleteTemplates(
  world: World,
  state: AccountState,
  query: URLSearchParams,
  response: ServerResponse,
): Promise<void> {
  const [name, id] = [query.get('name'), query.get('hsm_id')]
  const { w, a } = ownerOf(state)
  const { templates } = state.business
  const deleted = [...templates.values()].filter((each) => each.name === name && (id === null || each.id === id))
  if (deleted.length === 0) {
    return sendFailure(
      response,
      failure(100, 'name: no such template', { subcode: 2593002, message: '(#100) Invalid parameter' }),
    )
  }
  for (const template of deleted) {
    await world.journal.record(wireJson({ k: 't', w, a, deleted: templateKey(template) }))
    templates.delete(templateKey(template))
    deliverTemplateStatus(world, state, template, 'DELETED')
  }
  sendJson(response, 200, '{"success":true}')
}

function deliverTemplateStatus(world: World, state: AccountState, template: Template, event: string): void {
  const body = wireJson(templateCallback(state.account?.account_id ?? '', template, event, Date.now()))
  const number = world.nextCallback()
  const head = wireJson({ k: 'i', q: number, ...ownerOf(state) })
  world.journal.append(`${head.slice(0, -1)},"body":${body}}`, () => void world.callbacks.deliver(state, body, number))
}
