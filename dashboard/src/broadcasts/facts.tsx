/** A row of labeled values. `isSmall`: below the progress bar. */
export type Fact = { label: string; value: string; isMain?: boolean }

export const Facts = ({ facts, isSmall = false }: { facts: readonly Fact[]; isSmall?: boolean }) => (
  <dl className="broadcasts-facts" data-small={isSmall ? '' : undefined}>
    {facts.map(({ label, value, isMain }) => (
      <div key={label} data-main={isMain ? '' : undefined}>
        <dt className="soft small">{label}</dt>
        <dd className="numeric">{value}</dd>
      </div>
    ))}
  </dl>
)
