/**
 * `parley …`: the integrator's commands, and the operator's behind them.
 *
 * The integrator's speak to a service over its public API with a key, as any
 * program outside would, and open no database. Everything else is the
 * operator's (`server/cli.ts`), which is not even loaded for them.
 */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { inWords, openParley } from './api.ts'
import { createOutput, type Output } from './output.ts'
import { send } from './send.ts'
import { Failure, resolveTarget, type Target } from './target.ts'
import { trigger } from './trigger.ts'
import { type CommandName, helpOf, isCommandName } from './usage.ts'

type Options = {
  values: { [name: string]: string | boolean | (string | boolean)[] | undefined }
  words: string[]
}

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const shared = { key: text, url: text, json: flag, help: flag }
const options: Record<CommandName, ParseArgsOptionsConfig> = {
  listen: { ...shared, forward: text, print: flag, events: text },
  tail: { ...shared, events: text },
  send: {
    ...shared,
    ...{ to: text, text, template: text, language: text, media: text, type: text, filename: text, name: text },
    param: { type: 'string', multiple: true },
  },
  trigger: { ...shared, from: text, to: text, text, simulator: text },
  mcp: { ...shared, 'allow-send': flag },
}

const [name, ...args] = process.argv.slice(2)
if (isCommandName(name)) {
  process.exitCode = await main(name, args)
  // Nothing is left to do, and a connection that is kept open is no reason to stay.
  process.exit()
} else await import('../server/cli.ts')

async function main(name: CommandName, args: string[]): Promise<number> {
  const output = createOutput(args.includes('--json'))
  // Whoever reads us has enough (`| head`).
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => process.exit(0))
  try {
    const given = read(name, args)
    if (given.values.help) {
      process.stdout.write(`${helpOf(name)}\n`)
      return 0
    }
    await run(name, given, output)
    return 0
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    output.fail(error)
    return 1
  }
}

function read(name: CommandName, args: string[]): Options {
  try {
    const { values, positionals } = parseArgs({ args, options: options[name], allowPositionals: name === 'trigger' })
    return { values, words: positionals }
  } catch (error) {
    throw new Failure('bad_option', `${(error as Error).message}\n\n${helpOf(name)}`)
  }
}

async function run(name: CommandName, { values, words }: Options, output: Output): Promise<void> {
  const one = (option: string): string | undefined => {
    const value = values[option]
    return typeof value === 'string' ? value : undefined
  }
  if (values.print && one('forward') !== undefined) throw new Failure('bad_option', 'either --forward or --print')
  if (words.length > 1) throw new Failure('bad_option', `one event, not also ${words.slice(1).join(' ')}`)
  const target = resolveTarget({ key: one('key'), url: one('url'), simulator: one('simulator') })
  output.note(target.said)
  await start(name, { values, words, one, target, output }).catch((error) => {
    const failure = inWords(error, target.baseUrl)
    // Whoever stopped it knows.
    if (!(failure instanceof Failure && failure.code === 'aborted')) throw failure
  })
}

type Starting = Options & { one: (option: string) => string | undefined; target: Target; output: Output }

async function start(name: CommandName, { values, words, one, target, output }: Starting): Promise<void> {
  const parley = openParley(target)
  const url = target.baseUrl
  switch (name) {
    case 'listen': {
      const { listen } = await import('./listen.ts')
      const { key } = target
      const [events, forward] = [one('events'), one('forward')]
      return listen({ parley, url, key, output, signal: untilStopped(), events, forward })
    }
    case 'tail': {
      const { tail } = await import('./listen.ts')
      return tail({ parley, url, output, signal: untilStopped(), events: one('events') })
    }
    case 'send':
      return send(parley, output, {
        ...Object.fromEntries(Object.keys(options.send).map((option) => [option, one(option)])),
        param: Array.isArray(values.param) ? values.param.map(String) : undefined,
      })
    case 'trigger':
      return trigger(parley, output, {
        event: words[0],
        simulator: target.simulator,
        from: one('from'),
        to: one('to'),
        text: one('text'),
      })
    case 'mcp': {
      const { serveMcp } = await import('./mcp.ts')
      return serveMcp({
        parley,
        url,
        allowSend: values['allow-send'] === true,
        signal: untilStopped(),
        note: output.note,
      })
    }
  }
}

/** Ctrl-C, a signal, or the launcher is gone, however it went. */
function untilStopped(): AbortSignal {
  const stopping = new AbortController()
  for (const event of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect']) process.on(event, () => stopping.abort())
  return stopping.signal
}
