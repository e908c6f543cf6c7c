/** The texts of the pages of webhooks, which load with their pages. */
import { webhooks } from './en/webhooks.ts'
import { inLanguage } from './words.ts'

export const webhookWords = inLanguage({ en: webhooks })
