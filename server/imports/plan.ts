/**
 * Plans what the rows of a chunk do to contacts. The check and the import use the same plan, so they agree unless a contact changes
 * between them. Pure: the caller reads the contacts and writes the changes.
 *
 * A number without a contact creates one. A row of a contact that exists changes the fields that have a value, or only those that the
 * contact does not have, or nothing, as the options say. Tags are added, never removed. A customer who opted out stays opted out,
 * whatever a file says: the file may be older than that decision.
 */
import { maxAttributes } from '../contacts/attributes.ts'
import { type TextField, textFields } from '../contacts/contacts.ts'
import { maxTags } from '../contacts/tags.ts'
import type { UpdateMode } from './mapping.ts'
import type { AttributeValue, Fault, ImportedPerson } from './rows.ts'

/** A stored contact, as far as an import changes it. Times are texts of the database: they have microseconds. */
export type StoredContact = {
  id: string
  name: string | null
  email: string | null
  company: string | null
  typed_email_key: string | null
  attributes: Readonly<Record<string, AttributeValue>>
  opted_out_at: string | null
  opted_out_by: string | null
  opt_out_decided_at: string | null
  /** Folded names. */
  tags: ReadonlySet<string>
  /** The contact has several phone numbers, so several rows may change it. */
  hasMoreNumbers: boolean
}

/** Names and values of changed fields. A name is a column, or `attributes.` with a key. */
export type FieldValues = Record<string, string | number | boolean | null>

export type ContactChange = {
  id: string
  before: FieldValues
  after: FieldValues
  texts: Partial<Record<TextField, string>>
  attributes: Record<string, AttributeValue>
  optedOut: boolean | undefined
  /** Folded names of the tags to add. */
  tags: string[]
}

export type ChunkPlan = {
  created: ImportedPerson[]
  changes: ContactChange[]
  changedCount: number
  unchangedCount: number
  /** In the order of the rows. */
  faults: Fault[]
  /** Contacts with several numbers after the changes, by id. A check has no other way to know them in a later chunk. */
  changed: Map<string, StoredContact>
}

export function planChunk(
  people: readonly ImportedPerson[],
  faults: readonly Fault[],
  /** The contacts of numbers that exist. Two numbers may be those of one contact. */
  contacts: ReadonlyMap<string, StoredContact>,
  update: UpdateMode,
): ChunkPlan {
  const plan: ChunkPlan = {
    ...{ created: [], changes: [], changedCount: 0, unchangedCount: 0 },
    ...{ faults: [...faults], changed: new Map() },
  }
  const changes = new Map<string, { contact: StoredContact; change: ContactChange }>()
  for (const person of people) {
    const stored = contacts.get(person.identity)
    if (!stored) {
      plan.created.push(person)
      continue
    }
    const earlier = changes.get(stored.id)
    const contact = earlier?.contact ?? stored
    const change = planChange(contact, person, update)
    const reason = change && faultOf(contact, change)
    if (reason !== undefined) plan.faults.push({ index: person.index, reason })
    else if (!change) plan.unchangedCount++
    else {
      plan.changedCount++
      const after = stored.hasMoreNumbers ? applyChange(contact, change) : contact
      if (stored.hasMoreNumbers) plan.changed.set(stored.id, after)
      changes.set(stored.id, { contact: after, change: earlier ? joinChanges(earlier.change, change) : change })
    }
  }
  plan.changes = [...changes.values()].map(({ change }) => change)
  if (plan.faults.length > faults.length) plan.faults.sort((one, other) => one.index - other.index)
  return plan
}

/** Undefined when the row changes nothing. */
function planChange(contact: StoredContact, person: ImportedPerson, update: UpdateMode): ContactChange | undefined {
  if (update === 'never') return undefined
  const isOpen = (value: unknown) => update === 'all' || value === null || value === undefined
  const { id } = contact
  const change: ContactChange = { id, before: {}, after: {}, texts: {}, attributes: {}, optedOut: undefined, tags: [] }
  const { before, after } = change
  for (const field of textFields) {
    const [text, current] = [person[field], contact[field]]
    if (text === undefined || text === current?.trim() || !isOpen(current)) continue
    change.texts[field] = text
    before[field] = current
    after[field] = text
  }
  if (after.email !== undefined) before.typed_email_key = contact.typed_email_key
  for (const [key, value] of person.attributes) {
    // An attribute may be named like a property that all objects have.
    const current = Object.hasOwn(contact.attributes, key) ? contact.attributes[key] : undefined
    if (value === current || !isOpen(current)) continue
    change.attributes[key] = value
    before[`attributes.${key}`] = current ?? null
    after[`attributes.${key}`] = value
  }
  if (person.optedOut !== undefined && isDecisionOpen(contact, person.optedOut, update)) {
    change.optedOut = person.optedOut
    before.opted_out_at = contact.opted_out_at
    before.opted_out_by = contact.opted_out_by
    before.opt_out_decided_at = contact.opt_out_decided_at
    after.opted_out = person.optedOut
  }
  for (const tag of person.tags) {
    if (!contact.tags.has(tag)) change.tags.push(tag)
  }
  return Object.keys(after).length + change.tags.length > 0 ? change : undefined
}

function isDecisionOpen(contact: StoredContact, isOut: boolean, update: UpdateMode): boolean {
  if ((contact.opted_out_at !== null) === isOut) return false
  if (!isOut && (contact.opted_out_by === 'customer' || contact.opted_out_by === 'channel')) return false
  return update === 'all' || contact.opt_out_decided_at === null
}

/** Why the contact cannot take the change. */
function faultOf(contact: StoredContact, change: ContactChange): string | undefined {
  if (change.tags.length > 0 && contact.tags.size + change.tags.length > maxTags) {
    return `tags: the contact would have more than ${maxTags}`
  }
  const added = Object.keys(change.attributes).filter((key) => !Object.hasOwn(contact.attributes, key))
  if (added.length > 0 && Object.keys(contact.attributes).length + added.length > maxAttributes) {
    return `attributes: the contact would have more than ${maxAttributes}`
  }
  return undefined
}

/** The contact after the change, for a later row with another number of it. */
function applyChange(contact: StoredContact, { texts, attributes, optedOut, tags }: ContactChange): StoredContact {
  return {
    ...contact,
    ...texts,
    attributes: { ...contact.attributes, ...attributes },
    ...(optedOut === undefined
      ? {}
      : { opted_out_at: optedOut ? 'now' : null, opted_out_by: optedOut ? 'member' : null, opt_out_decided_at: 'now' }),
    tags: new Set([...contact.tags, ...tags]),
  }
}

function joinChanges(one: ContactChange, other: ContactChange): ContactChange {
  return {
    id: one.id,
    before: { ...other.before, ...one.before },
    after: { ...one.after, ...other.after },
    texts: { ...one.texts, ...other.texts },
    attributes: { ...one.attributes, ...other.attributes },
    optedOut: other.optedOut ?? one.optedOut,
    tags: [...one.tags, ...other.tags],
  }
}
