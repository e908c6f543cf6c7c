/**
 * `npx parley`: runs an integrator's command (`cli/`) or an operator's command (`server/cli.ts`).
 *
 * Integrators' commands call the public API and open no database, so the server's code is loaded only for operators.
 */
import { isCommandName, isVersionRequest, listCommands, withHelpOption } from '../cli/usage.ts'
import { parleyCommand, projectFolder } from '../common/environment.ts'
import { version } from '../common/version.ts'

const words = process.argv.slice(2)
if (isVersionRequest(words)) {
  console.log(version)
  process.exit()
}
const [name, ...args] = withHelpOption(words)
if (isCommandName(name)) {
  const { runIntegratorCommand } = await import('../cli/main.ts')
  // Open keep-alive connections would otherwise delay the exit.
  process.exit(await runIntegratorCommand(name, args, { invocation: parleyCommand, folder: projectFolder }))
}
const { runOperatorCommand } = await import('../server/cli.ts')
// A check of `doctor` whose time is over may still wait for an answer.
process.exit(await runOperatorCommand(withHelpOption(words), listCommands(parleyCommand)))
