/**
 * All texts of the pages, in the browser's language if it is available, else in English.
 *
 * A language is a folder with the same files as `en`. `en` defines the type, so a missing text is a compile error. Pages contain
 * no texts of their own; a test checks this.
 */
import { en } from './en/en.ts'

export type Words = typeof en

const languages: Record<string, Words> = { en }

export const words: Words = navigator.languages.map((tag) => languages[tag.split('-')[0] ?? '']).find(Boolean) ?? en
