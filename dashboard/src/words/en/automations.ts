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
  empty: 'No automations yet',
  columns: { name: 'Name', state: 'State' },
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
