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

/** The paths of four lucide icons. The package's components need React, which would triple the size of the widget. */
export const paths = {
  'message-circle': [
    'M2.992 16.342a2 2 0 0 1 .094 1.167l-1.065 3.29a1 1 0 0 0 1.236 1.168l3.413-.998a2 2 0 0 1 1.099.092 10 10 0 1 0-4.777-4.719',
  ],
  x: ['M18 6 6 18', 'm6 6 12 12'],
  paperclip: [
    'm16 6-8.414 8.586a2 2 0 0 0 2.829 2.829l8.414-8.586a4 4 0 1 0-5.657-5.657l-8.379 8.551a6 6 0 1 0 8.485 8.485l8.379-8.551',
  ],
  'arrow-up': ['m5 12 7-7 7 7', 'M12 19V5'],
}

export function icon(name: keyof typeof paths): SVGElement {
  const svg = document.createElementNS(svgNamespace, 'svg')
  setAttribute(svg, 'viewBox', '0 0 24 24')
  setAttribute(svg, 'aria-hidden', 'true')
  for (const d of paths[name]) {
    const path = document.createElementNS(svgNamespace, 'path')
    setAttribute(path, 'd', d)
    svg.append(path)
  }
  return svg
}
