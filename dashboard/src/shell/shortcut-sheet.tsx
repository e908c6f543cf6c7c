/** The list of all keyboard shortcuts, opened by `?`. */
import './shortcut-sheet.css'
import { useId } from 'react'
import { Dialog } from '../../../ui/overlays.tsx'
import { words } from '../words/words.ts'

type Shortcut = { keys: readonly string[]; label: string }

/** `general` and `pages` come from the shell, which knows the pages and the key of the palette. */
type Props = { general: readonly Shortcut[]; pages: readonly Shortcut[]; onClose: () => void }

export default function ShortcutSheet({ general, pages, onClose }: Props) {
  const titles = words.shell.shortcutGroups
  const { list, conversation, reply } = words.inbox.shortcuts
  return (
    <Dialog title={words.shell.shortcuts} size="wide" onClose={onClose}>
      <div className="shortcuts">
        <Group title={titles.list} shortcuts={list} />
        <Group title={titles.conversation} shortcuts={conversation} />
        <Group title={titles.reply} shortcuts={reply} />
        <Group title={titles.general} shortcuts={general} />
        <Group title={titles.pages} shortcuts={pages} />
      </div>
    </Dialog>
  )
}

function Group({ title, shortcuts }: { title: string; shortcuts: readonly Shortcut[] }) {
  const id = useId()
  return (
    <section aria-labelledby={id}>
      <h3 id={id}>{title}</h3>
      <dl>
        {shortcuts.map(({ keys, label }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              {keys.map((key) => (
                <kbd key={key} className="kbd">
                  {key}
                </kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
