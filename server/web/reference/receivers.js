// @ts-check
/**
 * Code that verifies a webhook, in the languages the guide links to. The files
 * are the ones that are tested; each is read when its tab is first shown.
 */
import { codeCard, tabs } from './dom.js'

/** @param {Iterable<Element>} links */
export function receiversCard(links) {
  const files = new Map(
    [...links].filter((link) => link instanceof HTMLAnchorElement).map((link) => [link.textContent ?? '', link]),
  )
  const [first = ''] = files.keys()
  let shown = ''
  /** @type {Map<string, string>} */
  const read = new Map()
  const bar = tabs({ label: 'Receiver', names: [...files.keys()], panel: () => card.id, select: show })
  const card = codeCard({ head: bar.element, what: 'the receiver' })

  /** @param {string} name */
  async function show(name) {
    const link = files.get(name)
    if (!link) return
    shown = name
    bar.mark(name)
    if (!read.has(name)) card.show('', '')
    const text = read.get(name) ?? (await readFile(link.href))
    if (text !== undefined) read.set(name, text)
    if (shown !== name) return
    if (text === undefined) card.show(`${link.pathname} could not be loaded.`, '')
    else card.show(text, link.dataset.receiver ?? '')
  }

  void show(first)
  return card.element
}

/** @param {string} address */
async function readFile(address) {
  try {
    const response = await fetch(address)
    return response.ok ? await response.text() : undefined
  } catch {
    return undefined
  }
}
