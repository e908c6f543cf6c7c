/** Maps that keep their newest entries. */
const maxEntries = 1_000

/** Adds an entry, and evicts the oldest one when there are too many. */
export function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key)
  map.set(key, value)
  const [first] = map.keys()
  if (map.size > maxEntries && first !== undefined) map.delete(first)
}
