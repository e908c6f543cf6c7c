/** The texts of the phone beside the editor of an automation. They load with it. */
import { automationPhone } from './en/automation-phone.ts'
import { inLanguage } from './words.ts'

export const automationPhoneWords = inLanguage({ en: automationPhone })
