/**
 * The texts of the pages. Those of large pages load with the page (`settings.ts`, `broadcasts.ts` and the like).
 *
 * A language is a folder with the same files as `en`. `en` defines the type, so a missing text is a compile error. Pages contain
 * no texts of their own; a test checks this.
 */
import { en } from './en/en.ts'

export type Words = typeof en

/** The texts in the browser's language if it is available, else in English. */
export const inLanguage = <Texts>(languages: { en: Texts } & Record<string, Texts>): Texts =>
  navigator.languages.map((tag) => languages[tag.split('-')[0] ?? '']).find(Boolean) ?? languages.en

export const words: Words = inLanguage({ en })
