import { countOf } from './count.ts'

const conversations = countOf('conversation', 'conversations')
const minutes = countOf('minute', 'minutes')
const hours = countOf('hour', 'hours')

export const assignment = {
  title: 'Assignment',
  lead: 'Who gets the conversations that wait in the queue of a team, and how many.',
  onlyManagers: 'Only owners and admins can change the assignment.',
  teams: 'Teams',
  noTeams: 'No teams yet',
  noTeamsText: 'A team has a queue. Its conversations can be assigned to the members who are available.',
  name: 'Team',
  queue: 'In the queue',
  queued: (count: number, isMore: boolean) => (isMore ? `${count.toLocaleString()}+` : count.toLocaleString()),
  showQueue: (team: string, count: number) => `Show the queue of ${team}: ${conversations(count)}`,
  available: 'Available',
  availableOf: (available: number, all: number) => `${available} of ${all}`,
  policy: 'Assignment',
  policyOf: (team: string) => `Assignment of ${team}`,
  policies: { none: 'By hand', round_robin: 'Round robin', fewest_open: 'Fewest open first' },
  policyHints: [
    'Round robin gives each member below capacity the next conversation in turn.',
    'Fewest open first gives it to the member with the fewest open conversations.',
    'Return if offline: a conversation goes back to the queue when its member is offline and the customer has waited for this long.',
    'The customer who has waited longest comes first. Members who are away or offline get none.',
  ],
  returns: 'Return if offline',
  returnsOf: (team: string) => `Return conversations of ${team} if the member is offline`,
  stays: 'Off',
  returnAfter: (count: number) => `After ${count % 60 === 0 ? hours(count / 60) : minutes(count)}`,
  policySaved: (team: string) => `Assignment of ${team} saved`,
  members: 'Members',
  member: 'Name',
  availability: 'Availability',
  load: 'Open',
  loadOf: (open: number) => conversations(open),
  capacity: 'Capacity',
  capacityOf: (member: string) => `Capacity of ${member}`,
  capacityHint:
    'A member gets no new conversation with this many open ones that are not snoozed and not with the bot. 0 to 200.',
  capacitySaved: (member: string, capacity: number) => `${member} gets up to ${conversations(capacity)}`,
  badCapacity: 'The capacity must be a whole number from 0 to 200.',
}
