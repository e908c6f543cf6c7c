import { countOf } from './count.ts'

const conversations = countOf('conversation', 'conversations')

export const labels = {
  title: 'Labels',
  lead: 'What your team calls its conversations. Press `l` in the inbox to add labels to a conversation.',
  add: 'Add label',
  empty: 'No labels yet',
  emptyText: 'Labels group conversations by topic, such as “Refund” or “VIP”. Filters and saved views use them.',
  name: 'Name',
  conversations: 'Conversations',
  actions: 'Actions',
  show: (name: string, count: string) => `Show conversations with label ${name}: ${count}`,
  /** `isMore`: counting stopped at this number. */
  count: (count: number, isMore: boolean) => (isMore ? `${count.toLocaleString()}+` : count.toLocaleString()),
  edit: (name: string) => `Edit label ${name}`,
  editTitle: (name: string) => `Edit label “${name}”`,
  color: 'Color',
  colors: {
    '#e11d48': 'Red',
    '#ea580c': 'Orange',
    '#d97706': 'Amber',
    '#65a30d': 'Lime',
    '#059669': 'Green',
    '#0d9488': 'Teal',
    '#0284c7': 'Blue',
    '#4f46e5': 'Indigo',
    '#7c3aed': 'Violet',
    '#c026d3': 'Pink',
    '#64748b': 'Gray',
  } as Readonly<Record<string, string>>,
  otherColor: (color: string) => `Other color ${color}`,
  exists: (name: string) => `The label “${name}” exists already.`,
  added: (name: string) => `Label “${name}” added`,
  saved: (name: string) => `Label “${name}” saved`,
  remove: (name: string) => `Delete label ${name}`,
  removeTitle: (name: string) => `Delete label “${name}”?`,
  removeAction: 'Delete label',
  removeUnused: 'No conversation has this label. This cannot be undone.',
  removeText: (count: number, isMore: boolean) =>
    `${isMore ? 'More than ' : ''}${conversations(count)} will lose this label. This cannot be undone.`,
  removed: (name: string) => `Label “${name}” deleted`,
}
