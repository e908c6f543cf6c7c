/** Returns a function that formats a number with its noun: `countOf('key', 'keys')(2)` is "2 keys". */
export const countOf = (one: string, many: string) => (number: number) =>
  `${number.toLocaleString()} ${number === 1 ? one : many}`
