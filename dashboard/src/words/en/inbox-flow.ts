/** The texts of the order, filters, views and changes of conversations. */
const conversations = (count: number) => (count === 1 ? '1 conversation' : `${count} conversations`)

/** The conversations of a change: one, with the name of its customer, or several. `isBrief`: changed one after the other. */
export type Changed = { count: number; name: string; isBrief: boolean }
/** A conversation that the page has not loaded has no name. */
const withName = (name: string) => (name ? ` with ${name}` : '')
const subjectOf = ({ count, name, isBrief }: Changed) =>
  count === 1 ? `Conversation${withName(name)}` : isBrief ? String(count) : conversations(count)
const objectOf = ({ count, name }: Changed) =>
  count === 1 ? `the conversation${withName(name)}` : conversations(count)

export const flow = {
  shortcuts: {
    list: [
      { keys: ['o'], label: 'Open next unread conversation' },
      { keys: ['w'], label: 'Open next waiting conversation, longest wait first' },
      { keys: ['.'], label: 'Show new conversations' },
      { keys: ['x'], label: 'Select conversation' },
      { keys: ['Shift', 'x'], label: 'Select conversations up to here' },
      { keys: ['f'], label: 'Filters' },
      { keys: ['v'], label: 'Views' },
    ],
    conversation: [
      { keys: ['s'], label: 'Snooze' },
      { keys: ['l'], label: 'Labels' },
      { keys: ['z'], label: 'Undo last change' },
      { keys: ['Ctrl', 'Z'], label: 'Undo last change (also in an empty reply box)' },
    ],
    reply: [
      { keys: ['Enter'], label: 'Send' },
      { keys: ['Shift', 'Enter'], label: 'New line' },
      { keys: ['Ctrl', 'Enter'], label: 'Send and close' },
    ],
  },
  newOnes: (count: number) => `${count} new`,
  newTitle: (count: number) => `Show ${conversations(count)} with new messages at the top`,
  noUnread: 'No unread conversations.',
  noneWaiting: 'No customers are waiting.',
  waitingSince: (at: string) => `Waiting for a reply from a member since ${at}`,

  sort: 'Sort by',
  sorts: { newest: 'Newest', oldest: 'Oldest', waiting: 'Longest wait', due: 'Due first' },

  filters: 'Filters',
  filtersOn: (count: number) => (count === 1 ? '1 filter' : `${count} filters`),
  assignee: 'Assigned to',
  team: 'Team',
  teams: 'Teams',
  noTeam: 'No team',
  queues: 'Queues',
  queueOf: (team: string) => `Queue of ${team}: without a member, longest wait first`,
  inQueue: (position: number) => `Number ${position.toLocaleString()} in the queue`,
  inQueueWaiting: (position: number, time: string) =>
    `Number ${position.toLocaleString()} in the queue, waiting ${time}`,
  tags: 'Tags',
  noReply: 'No reply yet',
  overdue: 'Overdue',
  due: {
    first_reply: 'Reply due',
    next_reply: 'Reply due',
    closing: 'Closing due',
  },
  dueIn: (what: string, time: string) => `${what} in ${time}`,
  dueShort: 'Due',
  lessThanMinute: 'less than a minute',
  lessThanMinuteShort: '< 1 min',
  overdueBy: (time: string) => `Overdue ${time}`,
  dueAt: (what: string, at: string) => `${what} ${at}`,
  lastMessage: 'Last message',
  period: 'Period',
  anyPeriod: 'Any time',
  periods: {
    '1': 'Last 24 hours',
    '7': 'Last 7 days',
    '30': 'Last 30 days',
    '90': 'Last 90 days',
  } as Readonly<Record<string, string>>,
  from: 'From',
  to: 'To',
  since: (date: string) => `from ${date}`,
  until: (date: string) => `to ${date}`,
  editFilter: (name: string) => `Change filter: ${name}`,
  removeFilter: (name: string) => `Remove filter: ${name}`,
  waiting: 'Waiting',
  anyWait: 'Any time',
  waits: {
    '15': 'Longer than 15 minutes',
    '60': 'Longer than 1 hour',
    '240': 'Longer than 4 hours',
    '1440': 'Longer than 1 day',
  } as Readonly<Record<string, string>>,
  clearFilters: 'Clear filters',
  done: 'Done',

  sidebar: 'Views, labels and members',
  sidebarClose: 'Close views, labels and members',
  members: 'Members',
  allOpen: 'Open conversations',
  more: (count: number) => `Show ${count} more`,
  manageViews: 'Manage views',
  views: 'Views',
  noViews: 'No saved views yet. Set filters in the list, then save them here.',
  viewsMine: 'Only you',
  viewsShared: 'Shared',
  saveView: 'Save current filters as a view',
  viewName: 'Name',
  share: 'Share with all members',
  save: 'Save view',
  saved: (name: string) => `View “${name}” saved`,
  deleteView: (name: string) => `Delete view ${name}`,
  deletedView: (name: string) => `View “${name}” deleted`,

  select: (name: string) => `Select ${name}`,
  selected: (count: number) => `${count} selected`,
  selection: 'Selected conversations',
  clearSelection: 'Clear selection',
  selectAll: 'Select all loaded',
  moreActions: 'More actions',
  close: 'Close',
  reopen: 'Reopen',
  assign: 'Assign',
  labels: 'Labels',
  labeledWith: (names: string) => `Labels: ${names}`,

  changed: {
    open: (changed: Changed) => `${subjectOf(changed)} reopened`,
    pending: (changed: Changed) => `${subjectOf(changed)} set to pending`,
    closed: (changed: Changed) => `${subjectOf(changed)} closed`,
  },
  stillScheduled: 'A scheduled message will still be sent',
  stillHeld: 'A scheduled message is on hold for your decision',
  /** A change that was sent together with a reply. */
  replied: (changed: Changed, text: (changed: Changed) => string) =>
    `${changed.count === 1 ? 'Reply' : `${changed.count} replies`} sent. ${text({ ...changed, isBrief: false })}`,
  assigned: (name: string, changed: Changed) => `${subjectOf(changed)} assigned to ${name}`,
  unassigned: (changed: Changed) => `${subjectOf(changed)} unassigned`,
  assignedTeam: (name: string, changed: Changed) => `${subjectOf(changed)} assigned to team ${name}`,
  unassignedTeam: (changed: Changed) => `${subjectOf(changed)} removed from the team`,
  labeled: (label: string, changed: Changed) => `Label “${label}” added to ${objectOf(changed)}`,
  unlabeled: (label: string, changed: Changed) => `Label “${label}” removed from ${objectOf(changed)}`,
  snoozed: (until: string, changed: Changed) => `${subjectOf(changed)} snoozed until ${until}`,
  awake: (changed: Changed) => `Snooze of ${objectOf(changed)} ended`,
  unread: (changed: Changed) => `${subjectOf(changed)} marked as unread`,
  read: (changed: Changed) => `${subjectOf(changed)} marked as read`,
  blocked: ({ count, name }: Changed) =>
    count === 1
      ? `${name} blocked. The conversation is closed.`
      : `${count} contacts blocked. The conversations are closed.`,
  unblocked: ({ count, name }: Changed) => (count === 1 ? `${name} unblocked` : `${count} contacts unblocked`),
  unblockedOpen: ({ count, name }: Changed) =>
    count === 1
      ? `${name} unblocked. The conversation is open again.`
      : `${count} contacts unblocked. The conversations are open again.`,
  waitingToSend: 'Waiting for the connection. It is sent when you are online again.',
  undoAll: 'Undo all',
  undoLastKeys: (keys: string) => `${keys}: last one`,
  notChanged: (changed: Changed, reason: string) =>
    `${subjectOf(changed)} ${changed.count === 1 ? 'was' : 'were'} not changed. ${reason}`,
  notFound: (count: number) => `${conversations(count)} could not be changed.`,

  snooze: 'Snooze',
  chooseLabels: 'Labels…',
  snoozedStatus: 'Snoozed',
  snoozedUntil: (at: string) => `Snoozed until ${at}`,
  snoozeText: 'The conversation returns to the inbox at that time, or when the customer writes.',
  laterToday: 'Later today',
  thisMorning: 'This morning',
  tomorrow: 'Tomorrow',
  nextWeek: 'Next week',
  snoozeAt: 'Date and time',
  snoozeNow: 'Snooze until then',
  endSnooze: 'End snooze',
  past: 'Choose a time in the future.',

  labelSearch: 'Find or create a label',
  createLabel: (name: string) => `Create label “${name}”`,
  manageLabels: 'Manage labels',
  noLabels: 'No labels yet. Enter a name to create the first one.',
  labelsOf: (count: number) => (count === 1 ? 'Labels' : `Labels of ${conversations(count)}`),

  notSent: (name: string) => `The reply${name && ` to ${name}`} was not sent. The conversation is open again.`,
  sendAnd: 'More ways to send',
  sendAndClose: 'Send and close',
  sendAndSnooze: 'Send and snooze…',
}
