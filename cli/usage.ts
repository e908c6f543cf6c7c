/** Usage and help texts of the integrators' commands. */
type Usage = { summary: string; usage: string; description: string }

const shared = '[--key K] [--url U]'

export const usages = {
  listen: {
    summary: 'receive events on this machine, printed or forwarded to a local URL',
    usage: `[--forward URL | --print] [--events a,b] ${shared} [--json]`,
    description: `Receive the workspace's events on this machine. Events are printed, or posted to a local URL and signed like webhooks.
The machine needs no public address. The command prints the signing secret first; it stays the same for a key.
  --forward URL   the URL to post to, such as http://localhost:3000/hook; timeout 5 seconds, no retries
  --print         print each event (default without --forward)
  --events a,b    only these events: message.received, message.status_updated, conversation.created, contact.created`,
  },
  tail: {
    summary: 'print one line per event',
    usage: `[--events a,b] ${shared} [--json]`,
    description: 'Print one line per event in real time. With --json, print the body of the webhook.',
  },
  send: {
    summary: 'send a message or a reply',
    usage: `(--to N [--from N] | --conversation ID) (--text T [--button TITLE]… | --template NAME [--language L] [--param V]… | --media URL [--type T] [--text CAPTION] [--filename F])
    [--name NAME] ${shared} [--json]`,
    description: `Send a message and print its id and status.
  --to N          the recipient's phone number, such as +14155550100
  --from N        the number of the workspace that sends, or the id of its connection; default: chosen by the service
  --conversation ID  reply in this conversation, on its channel
  --button TITLE  a button below the text, at most three; a tap returns the title as interactive_reply_id
  --template NAME an approved template in --language (default en_US); one --param per value, in order
  --media URL     a public URL; the file extension or --type decides between image, video, audio and document
  --name NAME     the contact's name`,
  },
  templates: {
    summary: 'list the templates with the values that each one needs',
    usage: `[--search S] [--language L] [--status S] ${shared} [--json]`,
    description: `List the templates of the channel: name, language, status, and the values that each one needs.
  --search S      a part of the name
  --status S      such as approved: only approved templates can be sent`,
  },
  trigger: {
    summary: 'cause a real event through the simulator',
    usage: `EVENT [--from N] [--to N] [--text T] [--simulator U] ${shared} [--json]`,
    description: `Cause a real event in a workspace that is connected to the simulator.
  message.received         a customer sends --text, from --from or a demo number
  message.status_updated   the workspace sends a template to --to, and the simulator reports its statuses
  conversation.created     a new customer sends --text
  contact.created          creates a contact with the number --from or a new one`,
  },
  automations: {
    summary: 'keep automations as files: pull, push, test',
    usage: `(pull [--ids] | push [--publish] | test [--dry-run [--days N]]) [--dir FOLDER] ${shared} [--json]`,
    description: `Keep the automations of the workspace as JSON files, for example in git. The key needs the scope automations:manage.
  pull            write one file per automation: name, description, position and definition
  push            create and change automations by their files, and print what changes. All files are checked first, and
                  nothing changes if one is not valid. An automation without a file stays as it is
  test            check the files and change nothing
  --dry-run       try each file on the past, too: which conversations it would have touched, and what it would have sent
  --days N        of the past, 1 to 7. Default: 7
  --dir FOLDER    default: automations
  --publish       publish what was pushed. Without it, a new definition is a draft. A paused automation stays paused
  --ids           write the id of each automation, so that a changed name renames it. Without an id, names are compared
The exit code is 0 if all is well, and 1 if a file is not valid or the service refuses it.`,
  },
  mcp: {
    summary: 'offer the workspace to an assistant (Model Context Protocol)',
    usage: `[--allow-send] ${shared}`,
    description: `Serve the workspace to an assistant over the Model Context Protocol (standard input and output). The assistant can
read what the key's scopes allow. With --allow-send it can also change conversations, add notes, and send and publish automations after a dry run.`,
  },
} as const satisfies Record<string, Usage>

export type CommandName = keyof typeof usages

export const isCommandName = (name: string | undefined): name is CommandName =>
  name !== undefined && Object.hasOwn(usages, name)

/** One line per command. */
export function listCommands(invocation: string): string[] {
  const width = Math.max(...Object.keys(usages).map((name) => name.length))
  return Object.entries(usages).map(([name, { summary }]) => `  ${invocation} ${name.padEnd(width)}  ${summary}`)
}

export const helpOf = (name: CommandName, invocation: string): string =>
  `${invocation} ${name} ${usages[name].usage}\n\n${usages[name].description}\n
Key and URL come from --key and --url, from PARLEY_API_KEY and PARLEY_URL (also in an .env file), or from the demo in this folder.`

/** Rewrites `help listen` and `listen -h` to `listen --help`, and `help` alone to `--help`. */
export const withHelpOption = ([first, ...rest]: readonly string[]): string[] =>
  first === undefined
    ? []
    : first === 'help'
      ? [...rest, '--help']
      : [first, ...rest].map((word) => (word === '-h' ? '--help' : word))

/** Whether the user asks for the version of the program. */
export const isVersionRequest = (args: readonly string[]): boolean =>
  args.length === 1 && ['--version', '-v', 'version'].includes(args[0] ?? '')
