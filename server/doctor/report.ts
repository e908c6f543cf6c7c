/** Prints findings: one line each with the fix below it, or one JSON document. */
import { version } from '../../common/version.ts'
import { countOf, type Finding, type State } from './check.ts'

export type Report = {
  add(findings: readonly Finding[]): void
  /** Returns the exit code: 1 if there is a problem. */
  end(): number
}

export function createReport(asJson: boolean): Report {
  const all: Finding[] = []
  // A reader such as `head` may end first.
  process.stdout.on('error', () => {})
  return {
    add(findings) {
      all.push(...findings)
      if (!asJson) for (const finding of findings) console.log(toText(finding))
    },
    end() {
      const count = (state: State) => all.filter((finding) => finding.state === state).length
      const [problems, warnings] = [count('problem'), count('warning')]
      if (asJson) console.log(JSON.stringify({ version, problems, warnings, checks: all }))
      else console.log(`\n${countOf(problems, 'problem')}, ${countOf(warnings, 'warning')}.`)
      return problems > 0 ? 1 : 0
    },
  }
}

const stateWidth = 8
const nameWidth = 14

function toText({ name, state, found, fix }: Finding): string {
  const line = `${state.padEnd(stateWidth)} ${name.padEnd(nameWidth)} ${found}`
  return fix === null ? line : `${line}\n${' '.repeat(stateWidth + nameWidth + 2)}Fix: ${fix}`
}
