/** The pages of automations. */
import { automationRuns } from './automations-runs.ts'
import { automationText } from './automations-text.ts'
import { countOf } from './count.ts'

const runCount = countOf('run', 'runs')

export const automations = {
  title: 'Automations',
  lead: 'Answer, ask, sort and hand over without typing. A reply of a member always stops them.',
  back: 'Automations',
  states: { draft: 'Draft', active: 'Active', paused: 'Paused' },
  notFound: {
    title: 'Automation not found',
    text: 'It was deleted, or the link is wrong.',
    label: 'View automations',
  },
  runs: automationRuns,
  text: automationText,
  list: {
    create: 'New automation',
    order:
      'The order matters for one thing: of several automations that ask questions, the topmost one that matches answers a message. Those without questions all run.',
    columns: {
      name: 'Name',
      state: 'State',
      started: 'Runs, 7 days',
      finished: 'Finished',
      handed_over: 'Handed over',
      person: 'Taken over',
      failed: 'Failed',
      other: 'Other',
      actions: 'Order',
    },
    open: (count: number) => `${count.toLocaleString()} open`,
    lastError: (error: string) => `Last error: ${error}`,
    changed: 'Unpublished changes',
    move: (name: string) => `Move ${name}`,
    up: 'Move up',
    down: 'Move down',
    moved: (name: string, position: number, total: number) => `“${name}” is now ${position} of ${total}`,
    empty: 'No automations yet',
    emptyReader: 'Owners and admins of your workspace can create one.',
  },
  create: {
    title: 'New automation',
    lead: 'Choose what comes closest. It becomes a draft that you change, try and publish; until then it does nothing.',
    start: 'Start with one of these',
    created: (name: string) => `Created the draft “${name}”`,
    starters: {
      blank: { name: 'New automation', title: 'Blank', text: 'Choose the trigger and the steps yourself.' },
      'welcome-menu': {
        name: 'Welcome menu',
        title: 'Welcome menu',
        text: 'Three buttons for a new conversation. Each leads to an answer or to the team.',
      },
      'away-message': {
        name: 'Away message',
        title: 'Away message',
        text: 'Outside your office hours, answers the first message of a conversation. Set the hours under Settings, Hours.',
      },
      'lead-questions': {
        name: 'Three lead questions',
        title: 'Three lead questions',
        text: 'Asks who wants an offer for company, size and email, and hands the answers to the team.',
      },
      'close-after-silence': {
        name: 'Close after silence',
        title: 'Close after silence',
        text: 'Closes a conversation whose customer has not replied for 3 days.',
      },
      'reminder-before-window-ends': {
        name: 'Reminder before the window ends',
        title: 'Reminder before the window ends',
        text: 'Asks the customer for a short answer 2 hours before the reply window ends.',
      },
      'order-status': {
        name: 'Order status',
        title: 'Order status by URL',
        text: 'Asks for the order number, calls your server, and answers with what it returns.',
      },
    },
  },
  head: {
    tabs: 'Automation',
    edit: 'Edit',
    steps: 'Steps',
    runs: 'Runs',
    more: 'More actions',
    version: (version: number) => `Version ${version}`,
    changed: 'Unpublished changes',
    publish: 'Publish',
    publishAndResume: 'Publish and resume',
    published: (version: number) => `Version ${version} is active`,
    publishTitle: (name: string) => `Publish “${name}”?`,
    publishText: 'It goes live at once, for every customer whom its start fits. You can pause it at any time.',
    publishAgainText: (open: number) =>
      open > 0
        ? `New runs use these changes at once. ${open === 1 ? '1 open run keeps its version' : `${runCount(open)} that are open keep their version`}.`
        : 'New runs use these changes at once. Open runs keep their version.',
    publishStart: 'Start',
    publishFirst: 'First step',
    nothing: 'There are no changes to publish.',
    empty: 'Add a step first.',
    resume: 'Resume',
    resumed: 'New runs start again',
    pause: 'Pause',
    pauseTitle: (name: string) => `Pause “${name}”?`,
    pauseText: 'It starts no new runs until you resume it.',
    openRuns: (count: number) => (count > 0 ? `Open runs (${count.toLocaleString()})` : 'Open runs'),
    keepRuns: 'Let open runs finish',
    keepRunsHint: 'Customers who are in the middle of a question can still answer it.',
    endRuns: 'End open runs now',
    endRunsHint: 'Their conversations go to the team.',
    paused: 'Automation paused',
    rename: 'Rename',
    save: 'Save changes',
    renameTitle: 'Name and description',
    name: 'Name',
    nameHint: 'Only your team sees it.',
    description: 'Description',
    descriptionHint: 'What it is for. Optional.',
    renamed: 'Changes saved',
    duplicate: 'Duplicate',
    duplicated: (name: string) => `Created the draft “${name}”`,
    copyOf: (name: string) => `${name} (copy)`,
    rotate: 'Replace secret of calls',
    rotateTitle: 'Replace the secret of calls?',
    rotateText:
      'The secret signs what the step “Call a URL” sends. The current one ends at once: your server refuses calls until it has the new one.',
    rotateAction: 'Replace secret',
    rotatedTitle: 'New secret of calls',
    rotatedText: 'Copy it to your server now. It is not shown again.',
    rotatedDone: 'I have copied it',
    delete: 'Delete',
    deleteTitle: (name: string) => `Delete “${name}”?`,
    deleteText: (recent: number) =>
      recent === 0
        ? 'Its versions and the log of all its runs are deleted too. This cannot be undone.'
        : `Its versions and the log of all its runs are deleted too, ${runCount(recent)} of the last 7 days among them. This cannot be undone.`,
    deleteOpen: (open: number) =>
      open === 1
        ? '1 open run ends now, and its conversation goes to the team.'
        : `${runCount(open)} are open. They end now, and their conversations go to the team.`,
    deleted: 'Automation deleted',
  },
}
