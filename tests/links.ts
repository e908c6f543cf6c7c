/** Finds links in Markdown documents that lead nowhere. */
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/**
 * Lists the links of documents, by their paths below `root`, to a file that `exists` does not know or to a heading that a
 * document does not have. Links to other hosts are not checked.
 */
export function findDeadLinks(root: string, documents: readonly string[], exists: (path: string) => boolean): string[] {
  return documents.flatMap((document) =>
    listLinks(readFileSync(join(root, document), 'utf8'))
      .filter((link) => {
        const [path = '', heading] = link.split('#')
        const target = path === '' ? document : normalize(join(dirname(document), path))
        return !exists(target) || (heading !== undefined && !hasHeading(join(root, target), heading))
      })
      .map((link) => `${document}: ${link}`),
  )
}

/** The targets of links and images, without code. */
function listLinks(text: string): string[] {
  const prose = text.replaceAll(/```.*?```/gs, '').replaceAll(/`[^`\n]+`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link).filter((link) => !/^[a-z]+:/.test(link))
}

/** Headings get their ids as on GitHub: lower case, without punctuation, blanks as hyphens. */
function hasHeading(file: string, id: string): boolean {
  const headings = [...readFileSync(file, 'utf8').matchAll(/^#{1,6} (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
  return headings.includes(id)
}
