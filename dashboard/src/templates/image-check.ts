/** Whether the images of a template can be loaded. The browser is asked once for each URL, and the form, the preview and the review share the result. */
import { useEffect, useState } from 'react'
import type { TemplateParams } from '../lib/calls.ts'
import { useDebounced } from '../lib/hooks.ts'
import { parseTemplate, type Template } from './parse-template.ts'

const checks = new Map<string, Promise<boolean>>()

/** Only sources that the page's content security policy allows can be checked. */
export function isLoadable(url: string): boolean {
  const source = URL.parse(url)
  return source !== null && (source.protocol === 'https:' || source.origin === window.location.origin)
}

function isBroken(url: string): Promise<boolean> {
  const known = checks.get(url)
  if (known) return known
  const image = Object.assign(new Image(), { referrerPolicy: 'no-referrer', src: url })
  const check = image.decode().then(
    () => false,
    () => {
      // The next visit tries again.
      setTimeout(() => checks.delete(url), 30_000)
      return true
    },
  )
  checks.set(url, check)
  return check
}

/** Whether one of the images cannot be loaded, once the member stops typing. */
export function useHasBrokenImage(urls: readonly string[]): boolean {
  const settled = useDebounced(urls.filter(isLoadable).join('\n'), 400)
  const [broken, setBroken] = useState('')
  useEffect(() => {
    if (!settled) return
    let isCurrent = true
    void Promise.all(settled.split('\n').map(isBroken)).then((results) => {
      if (isCurrent) setBroken(results.includes(true) ? settled : '')
    })
    return () => {
      isCurrent = false
    }
  }, [settled])
  return settled !== '' && broken === settled
}

/** The URLs of the images in the header and the cards. */
export function imagesOf(template: Template, params: TemplateParams): string[] {
  const part = parseTemplate(template)
  const parts = [
    { part, values: params },
    ...part.cards.map((card, at) => ({ part: card, values: params.cards?.[at] })),
  ]
  return parts.flatMap(({ part, values }) => (part.header?.kind === 'image' ? (values?.headerMediaUrl ?? []) : []))
}
