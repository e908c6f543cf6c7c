/** The order of automations: which ones a push moves. Pure. */

/** `position`: the place that the file names. */
type Placed = { id: string; position: number }

export type Movement = { id: string; position: number }

/** The moves, one after the other, that lead to the order of the files. Automations without a place keep their order. */
export function planMoves(current: readonly string[], placed: readonly Placed[]): Movement[] {
  const wanted = orderOf(current, placed)
  const order = [...current]
  const moves: Movement[] = []
  wanted.forEach((id, position) => {
    if (order[position] === id) return
    order.splice(order.indexOf(id), 1)
    order.splice(position, 0, id)
    moves.push({ id, position })
  })
  return moves
}

/** Of several automations with the same place, the one that is first now is first, and the next one follows it. */
function orderOf(current: readonly string[], placed: readonly Placed[]): string[] {
  const ids = new Set(placed.map(({ id }) => id))
  const order = current.filter((id) => !ids.has(id))
  const sorted = [...placed].sort(
    (one, other) => one.position - other.position || current.indexOf(one.id) - current.indexOf(other.id),
  )
  let next = 0
  for (const { id, position } of sorted) {
    next = Math.max(position, next)
    order.splice(next, 0, id)
    next++
  }
  return order
}
