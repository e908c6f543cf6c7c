/** The texts of trying an automation on the past. They load with it. */
import { automationDryRun } from './en/automation-dry-run.ts'
import { inLanguage } from './words.ts'

export const automationDryRunWords = inLanguage({ en: automationDryRun })
