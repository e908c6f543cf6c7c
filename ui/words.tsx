/** The texts that components show by themselves. `Kit` provides them. */
import { createContext, useContext } from 'react'

export type KitWords = {
  close: string
  /** Removes a toast. Not "Close", which other buttons of a page have. */
  dismiss: string
  cancel: string
  undo: string
  copy: string
  copied: string
  loading: string
  /** The error of a required field that is empty. By default the text of the browser. */
  required?: string
}

export const KitWordsContext = createContext<KitWords | undefined>(undefined)

export function useKitWords(): KitWords {
  const words = useContext(KitWordsContext)
  if (!words) throw new Error('Wrap the page in <Kit words={…}>.')
  return words
}
