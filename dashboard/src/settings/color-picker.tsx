/** Chooses the color of a label or a team. */
import { useId, useState } from 'react'
import { settingsWords } from '../words/settings.ts'

const { labels: texts } = settingsWords

export const colors = Object.keys(texts.colors)

/** The arrow keys move between the colors. */
export function ColorPicker({ value, onChange }: { value: string; onChange: (color: string) => void }) {
  const name = useId()
  const [initial] = useState(value)
  const all = colors.includes(initial) ? colors : [initial, ...colors]
  return (
    <fieldset className="settings-colors">
      <legend className="label">{texts.color}</legend>
      {all.map((color) => {
        const text = texts.colors[color] ?? texts.otherColor(color)
        return (
          <input
            key={color}
            type="radio"
            name={name}
            className="swatch"
            aria-label={text}
            title={text}
            style={{ background: color }}
            checked={color === value}
            onChange={() => onChange(color)}
          />
        )
      })}
    </fieldset>
  )
}
