/** The texts of the order, filters, views and changes of conversations. */
const conversations = (count: number) => (count === 1 ? '1 conversation' : `${count} conversations`)

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
    ],
    reply: [{ keys: ['Ctrl', 'Enter'], label: 'Send and close' }],
  },
  newOnes: (count: number) => `${count} new`,
  newTitle: (count: number) => `Show ${conversations(count)} with new messages at the top`,
  noUnread: 'No unread conversations.',
  noneWaiting: 'No customers are waiting.',
  waitingSince: (at: string) => `Waiting since ${at}`,

  sort: 'Sort by',
  sorts: { newest: 'Newest', oldest: 'Oldest', waiting: 'Longest wait' },

  filters: 'Filters',
  filtersOn: (count: number) => (count === 1 ? '1 filter' : `${count} filters`),
  assignee: 'Assigned to',
  anyAssignee: 'All members',
  label: 'Label',
  anyLabel: 'All labels',
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
  close: 'Close',
  reopen: 'Reopen',
  assign: 'Assign',
  labels: 'Labels',
  labeledWith: (names: string) => `Labels: ${names}`,

  changed: {
    open: (count: number) => (count === 1 ? 'Conversation reopened' : `${conversations(count)} reopened`),
    pending: (count: number) =>
      count === 1 ? 'Conversation set to pending' : `${conversations(count)} set to pending`,
    closed: (count: number) => (count === 1 ? 'Conversation closed' : `${conversations(count)} closed`),
  },
  assigned: (name: string, count: number) =>
    count === 1 ? `Assigned to ${name}` : `${conversations(count)} assigned to ${name}`,
  unassigned: (count: number) => (count === 1 ? 'Conversation unassigned' : `${conversations(count)} unassigned`),
  labeled: (label: string, count: number) =>
    count === 1 ? `Label “${label}” added` : `Label “${label}” added to ${conversations(count)}`,
  unlabeled: (label: string, count: number) =>
    count === 1 ? `Label “${label}” removed` : `Label “${label}” removed from ${conversations(count)}`,
  snoozed: (until: string, count: number) =>
    count === 1 ? `Snoozed until ${until}` : `${conversations(count)} snoozed until ${until}`,
  awake: (count: number) => (count === 1 ? 'Snooze ended' : `Snooze of ${conversations(count)} ended`),
  notFound: (count: number) => `${conversations(count)} could not be changed.`,

  snooze: 'Snooze',
  chooseSnooze: 'Snooze…',
  chooseLabels: 'Labels…',
  snoozedStatus: 'Snoozed',
  snoozedUntil: (at: string) => `Snoozed until ${at}`,
  snoozeText: 'The conversation returns to the inbox at that time, or when the customer writes.',
  laterToday: 'Later today',
  tomorrow: 'Tomorrow',
  nextWeek: 'Next week',
  snoozeAt: 'Date and time',
  snoozeNow: 'Snooze until then',
  endSnooze: 'End snooze',
  past: 'Choose a time in the future.',

  labelSearch: 'Find or create a label',
  createLabel: (name: string) => `Create label “${name}”`,
  noLabels: 'No labels yet. Enter a name to create the first one.',
  labelsOf: (count: number) => (count === 1 ? 'Labels' : `Labels of ${conversations(count)}`),

  notSent: 'The reply was not sent. The conversation is open again.',
  sendAnd: 'More ways to send',
  sendAndClose: 'Send and close',
  sendAndSnooze: 'Send and snooze…',
}
