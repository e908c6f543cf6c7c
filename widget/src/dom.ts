/** Creates elements from text and attributes, never from markup, so the widget runs under a strict Content-Security-Policy. */
type AttributeValue = string | boolean | undefined

export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, AttributeValue> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const created = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) setAttribute(created, key, value)
  created.append(...children)
  return created
}

/** False or undefined removes the attribute. True sets it to the empty string. */
export function setAttribute(target: Element, name: string, value: AttributeValue): void {
  if (value === undefined || value === false) target.removeAttribute(name)
  else target.setAttribute(name, value === true ? '' : value)
}

const svgNamespace = 'http://www.w3.org/2000/svg'

const paths = {
  chat: 'M21 11.5a8.4 8.4 0 0 1-12.2 7.5L3 21l2-5.8A8.4 8.4 0 1 1 21 11.5z',
  close: 'M6 6l12 12M18 6L6 18',
  send: 'M12 19V5M5 12l7-7 7 7',
}

export function icon(name: keyof typeof paths): SVGElement {
  const svg = document.createElementNS(svgNamespace, 'svg')
  setAttribute(svg, 'viewBox', '0 0 24 24')
  setAttribute(svg, 'aria-hidden', 'true')
  const path = document.createElementNS(svgNamespace, 'path')
  setAttribute(path, 'd', paths[name])
  svg.append(path)
  return svg
}
