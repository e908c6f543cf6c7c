/** The texts of the broadcasts, which load with their pages. */
import { broadcasts } from './en/broadcasts.ts'
import { inLanguage } from './words.ts'

export const broadcastWords = inLanguage({ en: broadcasts })
