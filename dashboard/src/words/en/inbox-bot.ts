/** The texts of conversations that are with the bot of an automation. */
export const bot = {
  view: 'With the bot',
  sender: 'Bot',
  banner: 'Automation',
  answering: (name: string | undefined) => (name ? `“${name}” is answering` : 'An automation is answering'),
  showRun: 'Show run',
  toRun: 'Show what the automation did',
  takeOver: 'Take over',
  takenOver: 'You have taken over. The automation stopped.',
  notTakenOver: 'The automation could not be stopped. Try again.',
  automation: (name: string | undefined) => (name ? `The automation “${name}”` : 'An automation'),
}
