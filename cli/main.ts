/** The integrators' commands. They call the public API with an API key, as any other client does. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { onStopRequest } from '../common/stop-request.ts'
import { createClient, toUserError } from './api.ts'
import { createOutput, type Output } from './output.ts'
import { send } from './send.ts'
import { CommandError, resolveTarget, type Target } from './target.ts'
import { printTemplates } from './templates.ts'
import { trigger } from './trigger.ts'
import { type CommandName, helpOf } from './usage.ts'

type Input = {
  values: { [name: string]: string | boolean | (string | boolean)[] | undefined }
  positionals: string[]
}

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const shared = { key: text, url: text, json: flag, help: { type: 'boolean', short: 'h' } } as const
const options: Record<CommandName, ParseArgsOptionsConfig> = {
  listen: { ...shared, forward: text, print: flag, events: text },
  tail: { ...shared, events: text },
  send: {
    ...shared,
    ...{
      to: text,
      from: text,
      conversation: text,
      text,
      template: text,
      language: text,
      media: text,
      type: text,
      filename: text,
      name: text,
    },
    param: { type: 'string', multiple: true },
    button: { type: 'string', multiple: true },
  },
  templates: { ...shared, search: text, language: text, status: text },
  trigger: { ...shared, from: text, to: text, text, simulator: text },
  automations: { ...shared, dir: text, publish: flag, ids: flag, 'dry-run': flag, days: text },
  mcp: { ...shared, 'allow-send': flag },
}

/** The program that runs a command: what the user types to start it, and the folder of its `.env` and demo. */
type Program = { invocation: string; folder: string }

/** Runs a command and returns its exit code. */
export async function runIntegratorCommand(name: CommandName, args: string[], program: Program): Promise<number> {
  const output = createOutput(args.includes('--json'))
  // The reader of a pipe may close it early, as `head` does.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => process.exit(0))
  try {
    const input = parseInput(name, args, program)
    if (input.values.help) {
      process.stdout.write(`${helpOf(name, program.invocation)}\n`)
      return 0
    }
    await run(name, input, output, program)
    return 0
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    output.fail(error)
    return 1
  }
}

function parseInput(name: CommandName, args: string[], { invocation }: Program): Input {
  try {
    return parseArgs({ args, options: options[name], allowPositionals: name === 'trigger' || name === 'automations' })
  } catch (error) {
    throw new CommandError('bad_option', `${(error as Error).message}\n\n${helpOf(name, invocation)}`)
  }
}

async function run(
  name: CommandName,
  { values, positionals }: Input,
  output: Output,
  { folder }: Program,
): Promise<void> {
  const option = (key: string): string | undefined => {
    const value = values[key]
    return typeof value === 'string' ? value : undefined
  }
  if (values.print && option('forward') !== undefined) {
    throw new CommandError('bad_option', 'Use either --forward or --print, not both.')
  }
  if (positionals.length > 1) {
    throw new CommandError(
      'bad_option',
      `Only one word after the command: ${positionals.slice(1).join(' ')} is too much.`,
    )
  }
  const requested = { key: option('key'), url: option('url'), simulator: option('simulator') }
  const target = resolveTarget(requested, folder)
  output.note(target.description)
  await dispatch(name, { values, positionals, option, target, output }).catch((error) => {
    const userError = toUserError(error, target.baseUrl)
    // The user stopped the command.
    if (!(userError instanceof CommandError && userError.code === 'aborted')) throw userError
  })
}

type Invocation = Input & { option: (key: string) => string | undefined; target: Target; output: Output }

async function dispatch(name: CommandName, { values, positionals, option, target, output }: Invocation): Promise<void> {
  const parley = createClient(target)
  const url = target.baseUrl
  switch (name) {
    case 'listen': {
      const { listen } = await import('./listen.ts')
      const { key } = target
      const [events, forward] = [option('events'), option('forward')]
      return listen({ parley, url, key, output, signal: stopSignal(), events, forward })
    }
    case 'tail': {
      const { tail } = await import('./listen.ts')
      return tail({ parley, url, output, signal: stopSignal(), events: option('events') })
    }
    case 'send':
      return send(parley, output, {
        ...Object.fromEntries(Object.keys(options.send).map((key) => [key, option(key)])),
        param: Array.isArray(values.param) ? values.param.map(String) : undefined,
        button: Array.isArray(values.button) ? values.button.map(String) : undefined,
      })
    case 'templates':
      return printTemplates(parley, output, {
        search: option('search'),
        language: option('language'),
        status: option('status'),
      })
    case 'trigger':
      return trigger(parley, output, {
        event: positionals[0],
        simulator: target.simulator,
        from: option('from'),
        to: option('to'),
        text: option('text'),
      })
    case 'automations': {
      const { manageAutomations } = await import('./automations.ts')
      return manageAutomations(parley, output, {
        action: positionals[0],
        url,
        folder: option('dir') ?? 'automations',
        publish: values.publish === true,
        ids: values.ids === true,
        dryRun: values['dry-run'] === true,
        days: option('days'),
      })
    }
    case 'mcp': {
      const { serveMcp } = await import('./mcp.ts')
      return serveMcp({
        parley,
        url,
        allowSend: values['allow-send'] === true,
        signal: stopSignal(),
        note: output.note,
      })
    }
  }
}

function stopSignal(): AbortSignal {
  const stopping = new AbortController()
  onStopRequest(() => stopping.abort())
  return stopping.signal
}
