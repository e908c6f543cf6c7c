/** A sentence in which the parts between backticks are code, or keys of the keyboard. */
export const Marked = ({ text, isKeys = false }: { text: string; isKeys?: boolean }) =>
  text.split('`').map((part, index) => {
    if (index % 2 === 0) return part
    return isKeys ? (
      <kbd key={part} className="kbd">
        {part}
      </kbd>
    ) : (
      <code key={part}>{part}</code>
    )
  })
