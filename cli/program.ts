/**
 * `parley-sdk`: the integrators' commands as the program of the SDK package, for machines without a copy of Parley.
 *
 * `npm run sdk` bundles this file with all that it imports into `sdk/dist/cli.js`. It runs on Node 20.12 and newer.
 */
import { version } from '../common/version.ts'
import { runIntegratorCommand } from './main.ts'
import { isCommandName, isVersionRequest, listCommands, withHelpOption } from './usage.ts'

const invocation = 'npx parley-sdk'

const help = [
  `Usage: ${invocation} COMMAND [options]`,
  '',
  ...listCommands(invocation),
  '',
  `${invocation} COMMAND --help shows the options of a command, ${invocation} --version the version.`,
  'Key and URL come from --key and --url, or from PARLEY_API_KEY and PARLEY_URL (also in an .env file in this folder).',
].join('\n')

async function run(input: readonly string[]): Promise<number> {
  const [name, ...args] = withHelpOption(input)
  if (isCommandName(name)) return runIntegratorCommand(name, args, { invocation, folder: process.cwd() })
  if (isVersionRequest(input)) console.log(version)
  else if (name === undefined || name === '--help') console.log(help)
  else {
    console.error(`Unknown command: ${name}\n\n${help}`)
    return 2
  }
  return 0
}

// Open keep-alive connections would otherwise delay the exit.
process.exit(await run(process.argv.slice(2)))
