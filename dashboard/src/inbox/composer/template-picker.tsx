/** The dialog to choose an approved template, enter its values, preview and send it. */
import './template-picker.css'
import { type ReactNode, useEffect, useState } from 'react'
import { Button, SearchInput } from '../../../../ui/controls.tsx'
import { EmptyState } from '../../../../ui/display.tsx'
import { Dialog } from '../../../../ui/overlays.tsx'
import { useCall } from '../../lib/api.ts'
import type { TemplateParams } from '../../lib/calls.ts'
import { parseTemplate, type Template } from '../../templates/parse-template.ts'
import { TemplateQuality } from '../../templates/status.tsx'
import { SyncTemplates } from '../../templates/sync.tsx'
import { DiscardQuestion } from '../../ui/dialogs.tsx'
import { LinkButton } from '../../ui/link-button.tsx'
import { QueryView } from '../../ui/page.tsx'
import { words } from '../../words/words.ts'
import { moveBetweenChoices } from '../actions/snooze-dialog.tsx'
import { TemplateForm, type TemplateSend } from './template-form.tsx'

const { template: labels } = words.inbox

type Props = {
  /** The name of the contact. */
  name: string
  /** The provider account of the number that sends. Undefined: any. */
  account: string | undefined
  /** Above the templates. */
  children?: ReactNode
  onClose: () => void
  /** `text`: the template with its values filled in. */
  onSend: (template: TemplateSend, text: string) => void
}

const keyOf = ({ account, name, language }: Template) => `${account} ${name} ${language}`

export function TemplatePicker({ name, account, children, onClose, onSend }: Props) {
  const query = useCall('GET /templates', {})
  const [picked, setChosen] = useState<Template>()
  /** The values of each template, while another one is chosen. */
  const [drafts] = useState(() => new Map<string, TemplateParams>())
  const [isAsking, setAsking] = useState(false)
  const dismiss = () => (drafts.size > 0 ? setAsking(true) : onClose())
  const isOfNumber = (template: Template) => account === undefined || template.account === account
  // Another number may have another provider account.
  const chosen = picked && isOfNumber(picked) ? picked : undefined
  // Renders the content after the dialog is open, so that the search field can take the focus.
  const [isOpen, setOpen] = useState(false)
  useEffect(() => setOpen(true), [])
  return (
    <>
      {isAsking && <DiscardQuestion onDiscard={onClose} onKeep={() => setAsking(false)} />}
      <Dialog title={labels.title(name)} size="wide" onClose={dismiss}>
        {children}
        <QueryView query={{ ...query, data: isOpen ? query.data : undefined }}>
          {(templates) => {
            const approved = templates.filter((template) => template.status === 'APPROVED' && isOfNumber(template))
            if (approved.length === 0) return <NoTemplates />
            return (
              <div className="inbox-picker" data-chosen={chosen ? '' : undefined}>
                <TemplateList templates={approved} chosen={chosen} onChoose={setChosen} />
                <div className="stack inbox-picker-form">
                  {chosen ? (
                    <>
                      <span className="inbox-picker-back">
                        <Button label={labels.back} size="small" icon="back" onClick={() => setChosen(undefined)} />
                      </span>
                      <TemplateForm
                        key={keyOf(chosen)}
                        template={chosen}
                        initial={drafts.get(keyOf(chosen))}
                        onChange={(params) => drafts.set(keyOf(chosen), params)}
                        onSend={onSend}
                      />
                    </>
                  ) : (
                    <p className="soft">{labels.choose}</p>
                  )}
                </div>
              </div>
            )
          }}
        </QueryView>
      </Dialog>
    </>
  )
}

function NoTemplates() {
  return (
    <EmptyState
      icon="templates"
      title={labels.none}
      text={labels.noneText}
      action={
        <>
          <SyncTemplates variant="primary" />
          <LinkButton label={labels.toTemplates} href="/templates" />
        </>
      }
    />
  )
}

type TemplateListProps = {
  templates: readonly Template[]
  chosen: Template | undefined
  onChoose: (template: Template) => void
}

function TemplateList({ templates, chosen, onChoose }: TemplateListProps) {
  const [search, setSearch] = useState('')
  const searchText = search.trim().toLowerCase()
  const found = templates.filter((template) =>
    `${template.name} ${template.name.replaceAll('_', ' ')} ${bodyOf(template)}`.toLowerCase().includes(searchText),
  )
  return (
    <div className="stack stack-tight inbox-picker-list">
      <SearchInput
        label={labels.search}
        value={search}
        autoFocus
        onChange={(event) => setSearch(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && found[0]) onChoose(found[0])
          else moveBetweenChoices(event)
        }}
      />
      {found.length === 0 && <p className="soft small">{labels.noMatch}</p>}
      <ul aria-label={labels.list} onKeyDown={moveBetweenChoices}>
        {found.map((template) => (
          <li key={keyOf(template)}>
            <button
              type="button"
              aria-pressed={chosen !== undefined && keyOf(chosen) === keyOf(template)}
              onClick={() => onChoose(template)}
            >
              <span className="inbox-picker-name">
                <strong className="cut">{template.name}</strong>
                <small>{template.language}</small>
                <TemplateQuality quality={template.quality} />
              </span>
              <span className="clamp snippet">{bodyOf(template)}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}

const bodyOf = (template: Template): string => parseTemplate(template).body?.text ?? ''
