/** A trigger and the steps of an automation in words. */
import { countOf } from './count.ts'

const units: Record<string, (number: number) => string> = {
  s: countOf('second', 'seconds'),
  m: countOf('minute', 'minutes'),
  h: countOf('hour', 'hours'),
  d: countOf('day', 'days'),
}

/** `2h` is "2 hours". */
const duration = (text = ''): string => {
  const [, number, unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? []
  return units[unit]?.(Number(number)) ?? text
}

const maxQuoted = 3

/** “price”, “offer” or 2 more. `isWhole`: with all texts. */
const oneOf = (texts: readonly string[], isWhole: boolean): string => {
  const quoted = texts.map((text) => `“${text}”`)
  const more = isWhole ? 0 : quoted.length - maxQuoted
  const shown = more > 0 ? [...quoted.slice(0, maxQuoted), `${more} more`] : quoted
  return shown.length === 1 ? (shown[0] ?? '') : `${shown.slice(0, -1).join(', ')} or ${shown.at(-1)}`
}

const labelOr = (label: string | undefined) => (label ? `the label “${label}”` : 'a label')
const tagOr = (tag: string | undefined) => (tag ? `the tag “${tag}”` : 'a tag')

export const automationText = {
  duration,
  /** References to fields of the contact, in texts. */
  fields: {
    'contact.name': 'Name',
    'contact.phone': 'Phone',
    'contact.email': 'Email',
    'contact.company': 'Company',
  } as Record<string, string>,
  triggers: {
    none: 'Nothing starts it yet',
    message: (when: string | undefined) =>
      ({
        first: 'A contact writes for the first time',
        first_since_closed: 'A customer writes for the first time since the conversation was closed',
      })[when ?? ''] ?? 'A customer writes',
    contains: (words: readonly string[], isWhole: boolean) => `with ${oneOf(words, isWhole)}`,
    button: (id: string) => `and taps “${id}”`,
    contentTypes: (types: readonly string[]) => `as ${types.join(' or ')}`,
    conversation: (event: string | undefined, label: string | undefined) =>
      ({
        opened: 'A conversation is opened',
        closed: 'A conversation is closed',
        assigned: 'A conversation is assigned',
        label_added: `A conversation gets ${labelOr(label)}`,
        label_removed: `A conversation loses ${labelOr(label)}`,
      })[event ?? ''] ?? 'A conversation changes',
    contact: (event: string | undefined, tag: string | undefined, attribute: string | undefined) =>
      ({
        created: 'A contact is created',
        tag_added: `A contact gets ${tagOr(tag)}`,
        tag_removed: `A contact loses ${tagOr(tag)}`,
        attribute_changed: attribute
          ? `The attribute “${attribute}” of a contact changes`
          : 'An attribute of a contact changes',
      })[event ?? ''] ?? 'A contact changes',
    silence: (event: string | undefined, after: string | undefined) =>
      ({
        waiting: `A customer waits ${duration(after)} for a reply`,
        no_reply: `A customer has not replied for ${duration(after)}`,
        window_ends: `${duration(after)} before the reply window ends`,
      })[event ?? ''] ?? 'Nothing happens for a time',
    rating: (most: number | undefined) =>
      most === undefined ? 'A customer rates us' : `A customer rates us with at most ${most}`,
    target: (event: string | undefined, before: string | undefined) =>
      event === 'due' ? `${duration(before)} before a target is missed` : 'A target is missed',
    manual: 'A member starts it as a macro',
    questions: 'asks questions',
  },
  steps: {
    send: (message: string) => `Send ${message}`,
    ask: (message: string) => `Ask ${message}`,
    branch: 'Choose by conditions',
    wait: (time: string | undefined) => `Wait ${duration(time)}`,
    waitForOpening: 'Wait until the office hours begin',
    set: (fields: string) => `Change ${fields}`,
    note: 'Add a note',
    call: (host: string) => `Call ${host}`,
    hand_over: 'Hand over to the team',
    end: 'End',
    fields: {
      status: 'the status',
      assigned_agent_id: 'the assignee',
      assigned_team_id: 'the team',
      snooze_for: 'snooze',
      add_labels: 'labels',
      remove_labels: 'labels',
      add_tags: 'tags',
      remove_tags: 'tags',
      attributes: 'attributes',
    } as Record<string, string>,
  },
  messages: {
    text: (text: string) => `“${text}”`,
    template: (name: string) => `the template “${name}”`,
    location: (name: string | undefined) => (name ? `the location “${name}”` : 'a location'),
    image: 'an image',
    video: 'a video',
    audio: 'an audio file',
    document: 'a document',
    other: 'a message',
  },
}
