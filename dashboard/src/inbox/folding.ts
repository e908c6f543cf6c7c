/**
 * Where the contact is shown: beside the thread where there is room, unless
 * somebody folded it away (kept in this browser); else over the thread, when
 * asked for.
 */
import { useCallback, useEffect, useState } from 'react'

const place = 'parley-inbox-contact'
const wide = '(min-width: 84rem)'

export type Folding = { isBeside: boolean; isOver: boolean; toggle: () => void }

export function useFolding(): Folding {
  const [isWide, setWide] = useState(() => matchMedia(wide).matches)
  const [isFolded, setFolded] = useState(() => localStorage.getItem(place) === 'folded')
  const [isOver, setOver] = useState(false)
  useEffect(() => {
    const query = matchMedia(wide)
    const change = () => {
      setWide(query.matches)
      setOver(false)
    }
    query.addEventListener('change', change)
    return () => query.removeEventListener('change', change)
  }, [])
  const toggle = useCallback(() => {
    if (!isWide) return setOver((is) => !is)
    localStorage.setItem(place, isFolded ? 'shown' : 'folded')
    setFolded(!isFolded)
  }, [isWide, isFolded])
  return { isBeside: isWide && !isFolded, isOver: !isWide && isOver, toggle }
}
