/**
 * `npx parley`: runs an integrator's command (`cli/`) or an operator's command (`server/cli.ts`).
 *
 * Integrators' commands call the public API and open no database, so the server's code is loaded only for operators.
 */
import { isCommandName, usages } from '../cli/usage.ts'

const [name, ...args] = process.argv.slice(2)
if (isCommandName(name)) {
  const { runIntegratorCommand } = await import('../cli/main.ts')
  // Open keep-alive connections would otherwise delay the exit.
  process.exit(await runIntegratorCommand(name, args))
}
const { runOperatorCommand } = await import('../server/cli.ts')
// A check of `doctor` whose time is over may still wait for an answer.
process.exit(await runOperatorCommand(process.argv.slice(2), usages))
