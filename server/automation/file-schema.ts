/** The JSON Schema of the files that `parley automations pull` writes: an automation with its definition. */
import { maxDescription, maxName } from './automations.ts'
import { describeDefinition, schemaReference } from './schema.ts'

/** The published schema: a JSON Schema (draft 2020-12) that needs no other document. */
export function describeFile(): object {
  const { $schema, $defs, ...definition } = describeDefinition()
  return {
    $schema,
    title: 'Automation file',
    type: 'object',
    properties: {
      $schema: schemaReference,
      id: {
        type: 'string',
        format: 'uuid',
        description: 'The automation that the file describes. Without it, the one with the same name.',
      },
      name: { type: 'string', minLength: 1, maxLength: maxName, description: 'Unique among the files.' },
      description: { type: 'string', maxLength: maxDescription, description: 'For members.' },
      position: { type: 'integer', minimum: 0, maximum: 1_000, description: 'Its place among the others, from 0.' },
      definition: { $ref: '#/$defs/Definition' },
    },
    required: ['name'],
    additionalProperties: false,
    $defs: { Definition: { ...definition, description: 'When it starts, for whom, and what it does.' }, ...$defs },
  }
}

/** The published schemas, by the name of their file. */
export const publishedSchemas = (): { name: string; text: string }[] =>
  [
    { name: 'automation.schema.json', schema: describeDefinition() },
    { name: 'automation-file.schema.json', schema: describeFile() },
  ].map(({ name, schema }) => ({ name, text: `${JSON.stringify(schema, null, 2)}\n` }))
