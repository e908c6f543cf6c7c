/** A label of a conversation: a topic, as a tinted rectangle. A tag of a person is a pill (`tag.tsx`). */
export const LabelChip = ({ name, color }: { name: string; color: string }) => (
  <span
    className="label-chip"
    style={{ borderColor: color, background: `color-mix(in srgb, ${color} 14%, var(--surface))` }}
    title={name}
  >
    <span className="cut">{name}</span>
  </span>
)
