/** Black or white, whichever reads better on a colour (`#rrggbb`): always at least 4.5:1. */
export function readableOn(color: string): '#000000' | '#ffffff' {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((place) => {
    const part = Number.parseInt(color.slice(place, place + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
  // Where (1.05 / (l + 0.05)) is ((l + 0.05) / 0.05): both read equally well.
  return luminance > 0.179 ? '#000000' : '#ffffff'
}
