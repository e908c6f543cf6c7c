/** The texts of the editor of automations. They load with it. */
import { automationEditor } from './en/automation-editor.ts'
import { inLanguage } from './words.ts'

export const editorWords = inLanguage({ en: automationEditor })
