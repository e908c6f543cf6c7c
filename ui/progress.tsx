/** A progress bar. `parts` are drawn one after the other. */
export function Progress({
  label,
  total,
  parts,
}: {
  label: string
  total: number
  parts: readonly { value: number; color?: string }[]
}) {
  const done = parts.reduce((sum, { value }) => sum + value, 0)
  return (
    <div
      className="progress"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={total}
      aria-valuenow={done}
    >
      {parts.map(({ value, color }, index) => (
        <span
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts keep their order.
          key={index}
          style={{ width: `${total > 0 ? (value / total) * 100 : 0}%`, ...(color ? { background: color } : {}) }}
        />
      ))}
    </div>
  )
}
