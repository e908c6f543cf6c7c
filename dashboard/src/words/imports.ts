/** The texts of the import of contacts, which load with its pages. */
import { imports } from './en/imports.ts'
import { inLanguage } from './words.ts'

export const importWords = inLanguage({ en: imports })
