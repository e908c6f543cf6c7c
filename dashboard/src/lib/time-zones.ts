/** Time zones to choose from. */

/** UTC, the stored zone and those that the browser knows, by name. */
export const timeZoneOptions = (stored: string): (readonly [value: string, label: string])[] =>
  [...new Set(['UTC', stored, ...Intl.supportedValuesOf('timeZone')])].map((zone) => [zone, zone.replaceAll('_', ' ')])
