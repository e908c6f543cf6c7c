/** The texts of the settings, which load with their pages. */
import { settings } from './en/settings.ts'
import { inLanguage } from './words.ts'

export const settingsWords = inLanguage({ en: settings })
