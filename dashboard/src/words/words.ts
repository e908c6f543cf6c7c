/**
 * Every word of the pages, in the language of the browser where we speak it.
 *
 * A language is a folder here with the files of `en`; `en` says which words
 * there are, so a language that lacks one does not compile. Pages hold no
 * words of their own, which a test keeps true.
 */
import { en } from './en/en.ts'

export type Words = typeof en

const languages: Record<string, Words> = { en }

export const words: Words = navigator.languages.map((tag) => languages[tag.split('-')[0] ?? '']).find(Boolean) ?? en
