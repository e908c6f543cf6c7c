// @ts-check
/**
 * Words as a phone shows them: links, and on Messages the marks *bold*,
 * _italic_, ~struck~, `code` and ```mono```.
 */
import { h, safeUrl } from './dom.js'

/**
 * @param {string} text
 * @param {boolean} marked whether the channel knows the marks
 * @returns {(Node | string)[]}
 */
export function rich(text, marked) {
  return marked ? blocks(text) : links(text, (part) => [part])
}

/** One line without its marks, for quotes, lists and listeners. @param {string} text */
export function flat(text) {
  const bare = h('span', {}, blocks(text)).textContent ?? ''
  return bare.replace(/\s+/g, ' ').trim()
}

/** Up to three emoji and nothing else are shown large. @param {string} text */
export function isEmojiOnly(text) {
  return /^(?:\p{Extended_Pictographic}(?:\ufe0f|\u200d\p{Extended_Pictographic}|\p{Emoji_Modifier})*\s*){1,3}$/u.test(
    text,
  )
}

/** @param {string} text */
function blocks(text) {
  return text.split(/(```[\s\S]+?```|`[^`\n]+`)/).flatMap((part) => {
    if (/^```[\s\S]+```$/.test(part)) return [h('code', { class: 'mono' }, part.slice(3, -3).replace(/^\n|\n$/g, ''))]
    if (/^`[^`]+`$/.test(part)) return [h('code', {}, part.slice(1, -1))]
    return links(part, emphasis)
  })
}

/**
 * @param {string} text
 * @param {(part: string) => (Node | string)[]} between
 */
function links(text, between) {
  return text.split(/(https?:\/\/[^\s<>"]+)/i).flatMap((part, at) => {
    if (at % 2 === 0) return part ? between(part) : []
    const address = part.replace(/[.,;:!?)\]}'*_~]+$/, '')
    const href = safeUrl(address)
    if (!href) return [part]
    const rest = part.slice(address.length)
    return [h('a', { href, target: '_blank', rel: 'noopener noreferrer' }, address), ...(rest ? [rest] : [])]
  })
}

const tags = /** @type {const} */ ({ '*': 'strong', _: 'em', '~': 's' })

/**
 * A mark counts when it hugs its words and does not stand inside one: `2*3*4` and `snake_case_name` stay as they are.
 * @param {string} text
 * @returns {(Node | string)[]}
 */
function emphasis(text) {
  const found = /(?<![\p{L}\p{N}])([*_~])(?=\S)([^\n]+?)(?<=\S)\1(?![\p{L}\p{N}])/u.exec(text)
  if (!found) return text ? [text] : []
  const [whole, mark = '*', inside = ''] = found
  const before = text.slice(0, found.index)
  return [
    ...(before ? [before] : []),
    h(tags[/** @type {keyof typeof tags} */ (mark)], {}, emphasis(inside)),
    ...emphasis(text.slice(found.index + whole.length)),
  ]
}
