/** Building blocks of the page: text, badges, code cards, tabs and disclosures. */
import { createContext, type ReactNode, useContext, useId, useState } from 'react'
import { CopyButton } from '../../ui/display.tsx'
import { highlight } from './samples.ts'
import { noTemporaryKey, type TemporaryKey } from './temporary-key.ts'

/** Choices that all sections share. The API key is stored for this tab only. */
type Preferences = {
  language: string | null
  setLanguage: (language: string) => void
  apiKey: string
  setApiKey: (key: string) => void
  temporaryKey: TemporaryKey
}
export const PreferencesContext = createContext<Preferences>({
  language: null,
  setLanguage: () => {},
  apiKey: '',
  setApiKey: () => {},
  temporaryKey: noTemporaryKey,
})
export const usePreferences = (): Preferences => useContext(PreferencesContext)

/** Paragraphs and lists (`- item`) of a description. Blank lines separate them. */
export const Prose = ({ text = '' }: { text?: string | undefined }) =>
  text
    .split(/\n\s*\n/)
    .filter((block) => block.trim())
    .map((block) =>
      block.startsWith('- ') ? (
        <ul key={block} className="list">
          {block.split(/^- /m).map(
            (item) =>
              item && (
                <li key={item}>
                  <Inline text={item} />
                </li>
              ),
          )}
        </ul>
      ) : (
        <p key={block}>
          <Inline text={block} />
        </p>
      ),
    )

/** Text with `code`, **bold** and [links](#target). */
export const Inline = ({ text }: { text: string }) =>
  text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)]+\))/).map((part, index) => {
    const key = `${index} ${part}`
    const [, label, href] = /^\[(.+)\]\((.+)\)$/s.exec(part) ?? []
    if (label && href)
      return (
        <a key={key} href={href}>
          <Inline text={label} />
        </a>
      )
    if (/^`.+`$/s.test(part)) return <code key={key}>{part.slice(1, -1)}</code>
    if (/^\*\*.+\*\*$/s.test(part)) return <strong key={key}>{part.slice(2, -2)}</strong>
    return part
  })

export const MethodBadge = ({ method }: { method: string }) => (
  <span className={`method ${method.toLowerCase()}`}>{method}</span>
)

export const StatusBadge = ({ status }: { status: number }) => (
  <span className={`status s${Math.floor(status / 100)}`}>{status}</span>
)

export const Anchor = ({ id, label }: { id: string; label: string }) => (
  <a className="anchor" href={`#${id}`} aria-label={`Link to ${label}`}>
    #
  </a>
)

type CodeCardProps = { head: ReactNode; label: string; code: string; language: string; panelId?: string }

/** A card of highlighted code with a copy button. With `panelId` it is the panel of the tabs in its head. */
export function CodeCard({ head, label, code, language, panelId }: CodeCardProps) {
  return (
    <div className="code">
      <div className="code-head">
        {typeof head === 'string' ? <span className="code-title">{head}</span> : head}
        <CopyButton text={code} size="small" />
      </div>
      {/* biome-ignore lint/a11y/useAriaPropsSupportedByRole: both roles support it. */}
      <pre id={panelId} role={panelId ? 'tabpanel' : 'group'} tabIndex={0} aria-label={label}>
        <code>
          {highlight(code, language).map(({ kind, text, start }) =>
            kind ? (
              <span key={start} className={`t-${kind}`}>
                {text}
              </span>
            ) : (
              text
            ),
          )}
        </code>
      </pre>
    </div>
  )
}

type LanguageCardProps = {
  label: string
  languages: readonly { name: string; language: string; write: () => string }[]
}

/** Code in several languages as tabs. All cards show the language that the reader selected at any of them, if they have it. */
export function LanguageCard({ label, languages }: LanguageCardProps) {
  const panelId = useId()
  const { language, setLanguage } = usePreferences()
  const selected = languages.find(({ name }) => name === language) ?? languages[0]
  if (!selected) return null
  const names = languages.map(({ name }) => name)
  return (
    <CodeCard
      head={<Tabs label="Language" names={names} selected={selected.name} panelId={panelId} onSelect={setLanguage} />}
      label={label}
      code={selected.write()}
      language={selected.language}
      panelId={panelId}
    />
  )
}

type TabsProps = {
  label: string
  names: readonly string[]
  selected: string
  panelId: string
  onSelect: (name: string) => void
}

/** Tabs over one panel. The arrow keys move between them. */
export function Tabs({ label, names, selected, panelId, onSelect }: TabsProps) {
  return (
    <div
      className="tabs"
      role="tablist"
      aria-label={label}
      onKeyDown={(event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
        if (!step) return
        event.preventDefault()
        const index = (names.indexOf(selected) + step + names.length) % names.length
        onSelect(names[index] ?? selected)
        const tab = event.currentTarget.children[index]
        if (tab instanceof HTMLElement) tab.focus()
      }}
    >
      {names.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          className="tab"
          aria-selected={name === selected}
          aria-controls={panelId}
          tabIndex={name === selected ? 0 : -1}
          onClick={() => onSelect(name)}
        >
          {name}
        </button>
      ))}
    </div>
  )
}

type DisclosureProps = {
  className: string
  head: ReactNode
  label?: string
  isInitiallyOpen?: boolean
  children: () => ReactNode
}

/** A button that shows and hides its content. The content is rendered when first opened, because schemas can be recursive. */
export function Disclosure({ className, head, label, isInitiallyOpen = false, children }: DisclosureProps) {
  const id = useId()
  const [isOpen, setOpen] = useState(isInitiallyOpen)
  const [isRendered, setRendered] = useState(isInitiallyOpen)
  const toggle = () => {
    setOpen(!isOpen)
    setRendered(true)
  }
  return (
    <div className={className}>
      <button
        type="button"
        className={`${className}-head`}
        aria-expanded={isOpen}
        aria-controls={id}
        aria-label={label}
        onClick={toggle}
      >
        {head}
      </button>
      <div className={`${className}-body`} id={id} hidden={!isOpen}>
        {isRendered && children()}
      </div>
    </div>
  )
}
