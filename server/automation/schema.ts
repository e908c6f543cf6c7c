/**
 * The JSON Schema of a definition. `read.ts` reads a caller's definition by it, and `describeDefinition` publishes it for editors.
 *
 * The content of messages has the schemas of send requests. The order of the properties is the order of the canonical form.
 */
import { contentTypes } from '../channels/channel.ts'
import { maxAttributes, namePattern } from '../contacts/attributes.ts'
import { maxTagLength, maxTags } from '../contacts/tags.ts'
import { statuses } from '../conversations/filter-fields.ts'
import { maxLabels } from '../conversations/labels.ts'
import { maxNoteLength } from '../conversations/timeline.ts'
import { documentKeyword, inDocument, NullableText, OneOf, type TSchema, Type } from '../lib/schema.ts'
import { contentFields, TemplateSchema } from '../messages/sending/requested-content.ts'
import type { Filter as FilterOfRules } from '../segments/filter.ts'
import { createFilterSchemas } from '../segments/filter-schema.ts'
import {
  type Answer,
  clockKinds,
  contactEvents,
  conversationEvents,
  type Definition,
  limits,
  type Message,
  mediaTypes,
  messageMoments,
  type Step,
  silenceEvents,
  type Trigger,
  targetEvents,
  waitEvents,
} from './definition.ts'
import { type DurationRange, durationPattern, durationRanges } from './durations.ts'
import { automationFields } from './fields.ts'

/** One of several objects. Their field `property` has the name of the variant, so that an error is about the variant that was meant. */
const variants = <Value>(property: string, schemas: readonly (TSchema & { properties: object })[], options: object) =>
  Type.Unsafe<Value>({ ...options, discriminator: { propertyName: property }, oneOf: schemas })

const Duration = ({ min, max }: DurationRange, description: string) =>
  Type.String({
    description: `${description} A whole number and a unit: s, m, h or d. ${min} to ${max}.`,
    ...inDocument({ pattern: durationPattern.source, examples: [min, '2h', '1d'] }),
  })

const { Filter: FilterSchema } = createFilterSchemas(automationFields)

/** The parts with a name of their own: those that the schema has in several places, and the list of steps, which contains itself. */
const Filter = (description: string) => Type.Unsafe<FilterOfRules>({ $ref: '#/$defs/Filter', description })
const MessageOf = (description: string) => Type.Unsafe<Message>({ $ref: '#/$defs/Message', description })
const Steps = (description: string, options: object = {}) =>
  Type.Unsafe<Step[]>({ $ref: '#/$defs/Steps', ...options, description })

const Name = (maxLength: number, description: string) => Type.String({ minLength: 1, maxLength, description })
const Names = (maxItems: number, description: string) =>
  Type.Optional(
    Type.Array(Type.String(inDocument({ minLength: 1, maxLength: maxTagLength })), {
      minItems: 1,
      maxItems,
      description,
    }),
  )
const Id = (description: string) => Type.String({ format: 'uuid', description })

const TriggerSchema = variants<Trigger>(
  'type',
  [
    Type.Object(
      {
        type: Type.Literal('message'),
        when: Type.Optional(
          OneOf(messageMoments, {
            description:
              '`any` message when absent; the `first` message of the contact; the first message since the conversation was closed.',
          }),
        ),
        contains: Type.Optional(
          Type.Array(Name(limits.wordLength, 'A word or a phrase.'), {
            minItems: 1,
            maxItems: limits.words,
            description: 'The message has one of these, as whole words. Case and accents are ignored.',
          }),
        ),
        button: Type.Optional(Name(256, 'The customer tapped the button or the row with this id.')),
        content_types: Type.Optional(
          Type.Array(OneOf(contentTypes), { minItems: 1, maxItems: contentTypes.length, description: 'Only these.' }),
        ),
      },
      { description: 'The customer writes. All fields that are present must match.' },
    ),
    Type.Object(
      {
        type: Type.Literal('conversation'),
        event: OneOf(conversationEvents),
        label: Type.Optional(Name(maxTagLength, 'For `label_added` and `label_removed`: only the label of this name.')),
      },
      { description: 'A conversation changes.' },
    ),
    Type.Object(
      {
        type: Type.Literal('contact'),
        event: OneOf(contactEvents),
        tag: Type.Optional(Name(maxTagLength, 'For `tag_added` and `tag_removed`: only the tag of this name.')),
        attribute: Type.Optional(Name(40, 'For `attribute_changed`: only the attribute of this name.')),
      },
      { description: 'A contact changes.' },
    ),
    Type.Object(
      {
        type: Type.Literal('silence'),
        event: OneOf(silenceEvents, {
          description:
            '`waiting`: the customer waits for a reply. `no_reply`: the customer has not replied. `window_ends`: the reply window ends.',
        }),
        after: Duration(durationRanges.silence, 'For so long; for `window_ends` the time before the end.'),
      },
      { description: 'Nothing is written for a time.' },
    ),
    Type.Object(
      {
        type: Type.Literal('target'),
        event: OneOf(targetEvents, {
          description: '`due`: the time of a target runs out soon. `breached`: it has run out.',
        }),
        before: Type.Optional(
          Duration(durationRanges.beforeBreach, 'For `due`, and required there: the time before the breach.'),
        ),
        target: Type.Optional(Type.String({ format: 'uuid', description: 'The id of a target. All when absent.' })),
        clock: Type.Optional(OneOf(clockKinds, { description: 'Only this time of the target.' })),
      },
      { description: 'A conversation is about to miss a target, or has missed it.' },
    ),
    Type.Object(
      {
        type: Type.Literal('rating'),
        at_most: Type.Optional(
          Type.Integer({ minimum: 1, maximum: 5, description: 'Only ratings from 1 to this one. Absent: all.' }),
        ),
      },
      { description: 'The customer answers the question about satisfaction.' },
    ),
    Type.Object({ type: Type.Literal('manual') }, { description: 'A member or the API starts it.' }),
  ],
  { description: 'What starts the automation.' },
)

const { text, media_url, filename, interactive, location } = contentFields
const { name, language, params } = TemplateSchema.properties

export const MessageSchema = variants<Message>(
  'type',
  [
    Type.Object({ type: Type.Literal('text'), text: required(text) }),
    Type.Object({ type: Type.Literal('interactive'), interactive: required(interactive) }),
    ...mediaTypes.map((type) =>
      Type.Object({ type: Type.Literal(type), media_url: required(media_url), text, filename }),
    ),
    Type.Object({ type: Type.Literal('location'), location: required(location) }),
    Type.Object(
      { type: Type.Literal('template'), template: Type.Object({ name, language, params }) },
      { description: 'The only content that may be sent outside the reply window.' },
    ),
  ],
  {
    description:
      'Texts may have `{{contact.name}}`, `{{contact.attributes.NAME}}` and `{{answers.NAME}}`, with a fallback: `{{contact.name|there}}`.',
  },
)

const AnswerSchema = variants<Answer>(
  'type',
  [
    Type.Object({ type: Type.Literal('text') }, { description: 'Any text.' }),
    Type.Object(
      {
        type: Type.Literal('number'),
        min: Type.Optional(Type.Number({ description: 'The least.' })),
        max: Type.Optional(Type.Number({ description: 'The greatest.' })),
      },
      { description: 'A number, with a comma or a point as decimal mark.' },
    ),
    Type.Object({ type: Type.Literal('email') }, { description: 'An email address.' }),
    Type.Object({ type: Type.Literal('date') }, { description: 'A date. It is stored as `2026-12-31`.' }),
    Type.Object(
      { type: Type.Literal('choice') },
      {
        description:
          'A button or a row of the message: tapped, or its title or number as text. The id of the button or row is stored.',
      },
    ),
  ],
  { description: 'What the customer may answer.' },
)

const saveAsPattern = (sources: string): string => `^(${sources})\\.${namePattern.source.slice(1)}`
const allSources = 'answers|contact\\.attributes'
const SaveAs = (sources: string, description: string) =>
  Type.String({ description, ...inDocument({ pattern: saveAsPattern(sources) }) })
export const saveAsExpression = new RegExp(saveAsPattern(allSources))

const onError = Type.Optional(
  Steps('Runs if the step fails. Without it the run ends, and the team gets the conversation.'),
)

const stepSchemas = [
  Type.Object(
    { type: Type.Literal('send'), message: MessageOf('What is sent.'), on_error: onError },
    { description: 'Sends.' },
  ),
  Type.Object(
    {
      type: Type.Literal('ask'),
      message: MessageOf('The question.'),
      answer: AnswerSchema,
      save_as: SaveAs(allSources, '`answers.NAME`, or `contact.attributes.NAME` for an attribute of the contact.'),
      retries: Type.Optional(
        Type.Object(
          {
            max: Type.Integer({ minimum: 1, maximum: limits.retries, description: 'How often.' }),
            text: required(text),
          },
          { description: 'What is sent after an answer that does not fit, at most `max` times.' },
        ),
      ),
      timeout: Type.Optional(
        Type.Object(
          { after: Duration(durationRanges.timeout, 'After the question.'), steps: Steps('What happens then.') },
          { description: 'What happens without an answer.' },
        ),
      ),
      on_error: onError,
    },
    { description: 'Sends a question and waits for the answer.' },
  ),
  Type.Object(
    {
      type: Type.Literal('branch'),
      cases: Type.Array(
        Type.Object({
          name: Type.Optional(Name(limits.caseName, 'For the outline and the log.')),
          when: Filter('The case runs if the contact and the conversation match.'),
          steps: Steps('The steps of the case.'),
        }),
        { minItems: 1, maxItems: limits.cases, description: 'The first that matches runs.' },
      ),
      otherwise: Type.Optional(Steps('Run if no case matches.')),
    },
    { description: 'Chooses steps by conditions.' },
  ),
  Type.Object(
    {
      type: Type.Literal('wait'),
      for: Type.Optional(Duration(durationRanges.wait, 'How long.')),
      until: Type.Optional(
        OneOf(waitEvents, { description: 'Until the office hours begin; not at all while it is open.' }),
      ),
    },
    { description: 'Waits: either `for` or `until`.', ...inDocument({ minProperties: 2, maxProperties: 2 }) },
  ),
  Type.Object(
    {
      type: Type.Literal('set'),
      status: Type.Optional(OneOf(statuses)),
      assigned_agent_id: Type.Optional(
        NullableText({ format: 'uuid', description: 'The id of a member; null for none.' }),
      ),
      assigned_team_id: Type.Optional(
        NullableText({ format: 'uuid', description: 'The id of a team; null for none.' }),
      ),
      snooze_for: Type.Optional(Duration(durationRanges.snooze, 'Snoozes the conversation.')),
      add_labels: Names(maxLabels, 'Labels of the conversation. A new name creates the label.'),
      remove_labels: Names(maxLabels, 'Labels of the conversation.'),
      add_tags: Names(maxTags, 'Tags of the contact. A new name creates the tag.'),
      remove_tags: Names(maxTags, 'Tags of the contact.'),
      attributes: Type.Optional(
        Type.Unsafe<Record<string, string | number | boolean | null>>({
          type: 'object',
          additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
          maxProperties: 2 * maxAttributes,
          description: 'Attributes of the contact. Null removes one. A text may have references, as in messages.',
          ...inDocument({ minProperties: 1, propertyNames: { pattern: namePattern.source } }),
        }),
      ),
    },
    { description: 'Changes the conversation and the contact.', ...inDocument({ minProperties: 2 }) },
  ),
  Type.Object(
    { type: Type.Literal('note'), text: Name(maxNoteLength, 'Only members see it.') },
    { description: 'Adds a private note to the conversation.' },
  ),
  Type.Object(
    {
      type: Type.Literal('call'),
      url: Type.String({ maxLength: 2_000, description: 'An https URL.', ...inDocument({ format: 'uri' }) }),
      save_as: Type.Optional(
        SaveAs('answers', '`answers.NAME`. The JSON object of the response; read it with `{{answers.NAME.field}}`.'),
      ),
      on_error: onError,
    },
    { description: 'Posts the run, the contact, the conversation and the answers to a URL, signed like a webhook.' },
  ),
  Type.Object(
    {
      type: Type.Literal('hand_over'),
      assigned_agent_id: Type.Optional(Id('The member who takes the conversation.')),
      assigned_team_id: Type.Optional(Id('The team that takes the conversation.')),
      note: Type.Optional(Name(maxNoteLength, 'Only members see it. The answers so far are added.')),
    },
    { description: 'Ends the run and opens the conversation for the team.' },
  ),
  Type.Object({ type: Type.Literal('end') }, { description: 'Ends the run.' }),
]

/** The schema by which definitions are read. */
export const DefinitionSchema = Type.Unsafe<Definition>({
  title: 'Automation',
  ...Type.Object({
    trigger: TriggerSchema,
    conditions: Type.Optional(Filter('Only for contacts and conversations that match when the automation starts.')),
    steps: Steps('What happens, in this order.', { minItems: 1 }),
  }),
  $defs: {
    Steps: Type.Array(Type.Unsafe<Step>({ $ref: '#/$defs/Step' }), {
      maxItems: limits.steps,
      description: `At most ${limits.steps} steps on all levels, nested at most ${limits.nesting} levels deep.`,
    }),
    Step: variants<Step>('type', stepSchemas, {}),
    Message: MessageSchema,
    Filter: FilterSchema,
  },
})

type PublishedSchema = { $schema: string; title: string; properties: object; $defs: Record<string, object> }

/** The published schema: a JSON Schema (draft 2020-12) that needs no other document. */
export function describeDefinition(): PublishedSchema {
  const { properties, ...rest } = toStandalone(DefinitionSchema) as Omit<PublishedSchema, '$schema'>
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...rest,
    properties: { $schema: schemaReference, ...properties },
  }
}

/** Editors read it. The service accepts it at the top of a definition and does not store it. */
export const schemaReference = { type: 'string', description: 'The address of this schema, for editors.' }

/** Applies the keywords for documents, drops those of the validator, and refuses unknown properties, as the service does. */
function toStandalone(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(toStandalone)
  if (typeof schema !== 'object' || schema === null) return schema
  const { [documentKeyword]: keywords, discriminator: _, ...rest } = schema as Record<string, unknown>
  const shown: Record<string, unknown> = { ...rest, ...(keywords as object | undefined) }
  const isObject = shown.type === 'object' && shown.properties !== undefined
  const copy = Object.entries(shown).flatMap(([keyword, part]) => {
    if (part === undefined) return []
    if (keyword === 'examples') return [[keyword, part]]
    return [[keyword, ['properties', '$defs'].includes(keyword) ? mapParts(part as object) : toStandalone(part)]]
  })
  return { ...Object.fromEntries(copy), ...(isObject ? { additionalProperties: false } : {}) }
}

/** The names are those of fields, which may be those of keywords. */
const mapParts = (parts: object): object =>
  Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, toStandalone(part)]))

/** A field of a send request that the message of this type must have. The mark of optional fields is not copied. */
function required<Schema extends TSchema>(schema: Schema): Schema {
  return { ...schema }
}
