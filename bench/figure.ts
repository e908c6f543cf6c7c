/** One measured number and its goal. */
export type Figure = {
  what: string
  value: number
  unit: string
  goal?: { atLeast: number } | { below: number }
  note?: string
}

export function met({ value, goal }: Figure): boolean {
  if (!goal) return true
  return 'atLeast' in goal ? value >= goal.atLeast : value < goal.below
}

export function toRow(figure: Figure): string {
  const { what, value, unit, goal, note } = figure
  const wanted = goal ? ('atLeast' in goal ? `≥ ${goal.atLeast}` : `< ${goal.below}`) : ''
  const number = value >= 100 ? Math.round(value) : value.toFixed(2)
  return `| ${what} | ${number} ${unit} | ${wanted} | ${goal ? (met(figure) ? 'met' : '**missed**') : ''} | ${note ?? ''} |`
}
