/** `parley templates`: lists the templates of the channel with the values that each one needs. */
import type { ListTemplatesQuery, Parley } from '../sdk/src/index.ts'
import type { Output } from './output.ts'

export async function printTemplates(parley: Parley, output: Output, query: ListTemplatesQuery): Promise<void> {
  let count = 0
  for await (const template of parley.templates.list({ ...query, limit: 100 })) {
    const { name, language, status, params } = template
    const values = params === null ? 'cannot be sent' : JSON.stringify(params)
    output.print(template, [`${name.padEnd(24)} ${language.padEnd(6)} ${status.padEnd(10)} ${values}`])
    count++
  }
  if (count === 0) output.note('No templates match.')
}
