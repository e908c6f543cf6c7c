/** References in texts, for readers. */
import { automationWords } from '../words/automations.ts'

const { fields } = automationWords.text

/** References as the name of what they stand for: `[Name]`. */
export const fillNames = (value: string): string =>
  value.replaceAll(
    /\{\{\s*((?:contact|answers)\.[^{}|]*?)\s*(?:\|[^{}]*)?\}\}/g,
    (_, field: string) => `[${fields[field] ?? field.replace(/^(contact\.attributes|answers|contact)\./, '')}]`,
  )
