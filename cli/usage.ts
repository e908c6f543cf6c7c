/** The integrator's commands, as their help and the operator's list show them. */
export type Usage = { usage: string; about: string }

const shared = '[--key K] [--url U]'

export const usages = {
  listen: {
    usage: `[--forward URL | --print] [--events a,b] ${shared} [--json]`,
    about: `Receive the workspace's events: shown here, or posted each to an address on your machine, signed as a webhook is.
Nothing has to be reachable from outside. The secret to verify them with is printed first and stays the same for a key.
  --forward URL   where to post, such as http://localhost:3000/hook; 5 seconds to answer, not tried again
  --print         show each event, as without --forward
  --events a,b    only these: message.received, message.status_updated, conversation.created, contact.created`,
  },
  tail: {
    usage: `[--events a,b] ${shared} [--json]`,
    about: 'Show one line for each event as it happens; with --json its body as a webhook carries it.',
  },
  send: {
    usage: `--to N (--text T | --template NAME [--language L] [--param V]… | --media URL [--type T] [--text CAPTION] [--filename F])
    [--name NAME] ${shared} [--json]`,
    about: `Send a message and print its id and status.
  --to N          a phone number such as +14155550100
  --template NAME an approved template, in en_US or --language, with a --param for each of its values in their order
  --media URL     a public address; image, video, audio or document by its ending, or by --type
  --name NAME     the contact's name`,
  },
  trigger: {
    usage: `EVENT [--from N] [--to N] [--text T] [--simulator U] ${shared} [--json]`,
    about: `Cause an event by causing what it tells of, in a workspace that is connected to the simulator:
  message.received         a customer writes --text, from a number of the demo or --from
  message.status_updated   a template is sent to --to, and the simulator reports what became of it
  conversation.created     somebody new writes
  contact.created          a contact is made, with the number --from or a new one`,
  },
  mcp: {
    usage: `[--allow-send] ${shared}`,
    about: `Serve the workspace to an assistant that speaks the Model Context Protocol, over standard input and output. It can
read what the key's scopes allow. With --allow-send it can also send, each time only what it showed in a dry run before.`,
  },
} as const satisfies Record<string, Usage>

export type CommandName = keyof typeof usages

export const isCommandName = (word: string | undefined): word is CommandName =>
  word !== undefined && Object.hasOwn(usages, word)

export const helpOf = (name: CommandName): string =>
  `npx parley ${name} ${usages[name].usage}\n\n${usages[name].about}\n
The key and the address are --key and --url, or PARLEY_API_KEY and PARLEY_URL, or those of the demo beside which it runs.`
