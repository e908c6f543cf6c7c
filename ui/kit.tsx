/** The root of a page that uses the kit: provides the components' texts and the toasts. */
import type { ReactNode } from 'react'
import { Toasts } from './overlays.tsx'
import { type KitWords, KitWordsContext } from './words.tsx'

type KitProps = {
  words: KitWords
  /** Returns the sentence that a failure toast shows for an error. */
  describeError: (error: unknown) => string
  children: ReactNode
}

export function Kit({ words, describeError, children }: KitProps) {
  return (
    <KitWordsContext value={words}>
      <Toasts describeError={describeError}>{children}</Toasts>
    </KitWordsContext>
  )
}
