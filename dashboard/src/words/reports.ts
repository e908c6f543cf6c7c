/** The texts of the reports, which load with their pages. */
import { reports } from './en/reports.ts'
import { inLanguage } from './words.ts'

export const reportWords = inLanguage({ en: reports })
