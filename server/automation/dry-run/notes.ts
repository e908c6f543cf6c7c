/** What a dry run cannot know, in plain English. Pure. */
import type { Definition, Step } from '../definition.ts'
import { listSteps } from '../steps.ts'
import { listFacts } from './conditions.ts'

export function listNotes(definition: Definition): string[] {
  const types = new Set<Step['type']>(listSteps(definition).map(({ step }) => step.type))
  const fields = [...new Set(listFacts(definition).map(({ field }) => field))]
  const writes = types.has('send') || types.has('ask')
  const notes: (string | false)[] = [
    fields.length > 0 &&
      `Conditions on ${fields.join(', ')} use the data of today, not that of the past, with the changes of the runs before.`,
    writes && 'Texts are filled with the data of the contacts of today.',
    writes &&
      'Sends are assumed to succeed if the reply window was open: the plan, the connection and the approval of templates are not checked.',
    types.has('call') &&
      'No server is called. A run whose call saves the response ends at this step; any other goes on as after a response of 2xx.',
    types.has('ask') &&
      'A message of the past may answer a question that the customer did not get. Customers may answer otherwise when they read it.',
    types.has('ask') && 'Where a run with questions of another automation was open, no run starts.',
    'Runs that this automation really had are not considered, and the messages of other automations do not count for the limit per hour.',
  ]
  return notes.filter((note) => note !== false)
}
