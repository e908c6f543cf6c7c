/** Who gets the next conversations of a queue: the policies, without a database. */
import type { PolicyActor } from '../timeline.ts'

/** `open`: how many conversations count against the capacity now. */
export type Candidate = { id: string; open: number; capacity: number }

export type Pick = { memberId: string; open: number; capacity: number }

/**
 * The members for up to `count` conversations, in the order of the queue. `open` of a pick includes the conversation.
 *
 * Round robin goes through the members in the order of their ids, starts after `lastId`, and skips members without capacity. Fewest open
 * takes the member with the fewest conversations; of several, the next one of round robin. So two members with enough capacity never
 * differ by more than one conversation that this function gave them, unless they did before.
 */
export function chooseMembers(
  policy: Exclude<PolicyActor['policy'], 'offline'>,
  candidates: readonly Candidate[],
  lastId: string | null,
  count: number,
): Pick[] {
  const members = candidates
    .map((candidate) => ({ ...candidate }))
    .sort((one, other) => (one.id < other.id ? -1 : one.id > other.id ? 1 : 0))
  const picks: Pick[] = []
  let last = lastId ?? ''
  while (picks.length < count) {
    const after = members.findIndex(({ id }) => id > last)
    const inTurn = after <= 0 ? members : [...members.slice(after), ...members.slice(0, after)]
    const free = inTurn.filter(({ open, capacity }) => open < capacity)
    const next =
      policy === 'round_robin'
        ? free[0]
        : free.reduce<(typeof free)[number] | undefined>(
            (fewest, member) => (fewest && fewest.open <= member.open ? fewest : member),
            undefined,
          )
    if (!next) return picks
    next.open++
    last = next.id
    picks.push({ memberId: next.id, open: next.open, capacity: next.capacity })
  }
  return picks
}
