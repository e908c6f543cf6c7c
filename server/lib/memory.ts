/**
 * Give back what starting took: validators are compiled and pages packed with
 * three times the memory that is needed afterwards, and the engine would keep
 * it until it is short of some.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

type Collect = (options: { type: 'major'; flavor: 'last-resort' }) => void

export function giveBackMemory(): void {
  // The engine shows its collector to code that is compiled from here on.
  setFlagsFromString('--expose-gc')
  const collect: Collect = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  collect({ type: 'major', flavor: 'last-resort' })
}
