/** The texts of the automations. They load with these pages. */
import { automations } from './en/automations.ts'
import { inLanguage } from './words.ts'

export const automationWords = inLanguage({ en: automations })
