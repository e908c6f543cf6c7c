/**
 * Lists of ids in the rows of a page, each as one text with spaces, such as the tags of a contact. A page names few different
 * things, so they are read once per page: with their names in JSON in each row, a page of 50 took twice as long.
 */
const splitList = (list: string): string[] => (list === '' ? [] : list.split(' '))

/** Names instead of ids: each once, sorted. */
export const splitNames = (list: string): string[] => [...new Set(splitList(list))].sort()

/** Reads the items that the lists name. `read` returns them in the order to show. Returns the items of a list. */
export async function resolveLists<Item extends { id: string }>(
  lists: readonly string[],
  read: (ids: string[]) => Promise<readonly Item[]>,
): Promise<(list: string) => Item[]> {
  const ids = [...new Set(lists.flatMap(splitList))]
  if (ids.length === 0) return () => []
  const items = await read(ids)
  const ranks = new Map(items.map(({ id }, rank) => [id, rank]))
  return (list) => {
    const found = splitList(list).flatMap((id) => ranks.get(id) ?? [])
    return found.sort((a, b) => a - b).flatMap((rank) => items[rank] ?? [])
  }
}
