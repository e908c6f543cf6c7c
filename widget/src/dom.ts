/**
 * Elements, made one by one. No text ever becomes markup here, so a page with
 * a strict policy has nothing to refuse and a message nothing to inject.
 */
type Attributes = Record<string, string | boolean | undefined>

export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) set(made, key, value)
  made.append(...children)
  return made
}

/** False or absent takes the attribute away; true leaves it empty. */
export function set(target: Element, name: string, value: string | boolean | undefined): void {
  if (value === undefined || value === false) target.removeAttribute(name)
  else target.setAttribute(name, value === true ? '' : value)
}

const svgSpace = 'http://www.w3.org/2000/svg'

const paths = {
  chat: 'M21 11.5a8.4 8.4 0 0 1-12.2 7.5L3 21l2-5.8A8.4 8.4 0 1 1 21 11.5z',
  close: 'M6 6l12 12M18 6L6 18',
  send: 'M12 19V5M5 12l7-7 7 7',
}

export function icon(name: keyof typeof paths): SVGElement {
  const svg = document.createElementNS(svgSpace, 'svg')
  set(svg, 'viewBox', '0 0 24 24')
  set(svg, 'aria-hidden', 'true')
  const path = document.createElementNS(svgSpace, 'path')
  set(path, 'd', paths[name])
  svg.append(path)
  return svg
}
