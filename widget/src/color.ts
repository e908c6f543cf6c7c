/** Returns black or white, whichever has more contrast on the color (`#rrggbb`). The contrast is at least 4.5:1. */
export function readableOn(color: string): '#000000' | '#ffffff' {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((index) => {
    const channel = Number.parseInt(color.slice(index, index + 2), 16) / 255
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4
  })
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
  // At 0.179 black and white have equal contrast: 1.05 / (l + 0.05) = (l + 0.05) / 0.05.
  return luminance > 0.179 ? '#000000' : '#ffffff'
}
