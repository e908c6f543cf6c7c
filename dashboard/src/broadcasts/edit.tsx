/** The pages that edit a scheduled broadcast, and that write a new one from any broadcast. */
import { useState } from 'react'
import { Note } from '../../../ui/display.tsx'
import { type DataOf, useCall } from '../lib/api.ts'
import { toDatetimeLocal } from '../lib/time.ts'
import { Page, QueryView } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { ComposeForm } from './compose.tsx'
import { type Draft, digitsOf, empty } from './use-draft.ts'

const { editing: text } = words.broadcasts

type Source = DataOf<'GET /broadcasts/{id}/source'>

export const EditBroadcast = ({ id }: { id: string }) => <ComposeFrom id={id} isEdit />
export const CopyBroadcast = ({ id }: { id: string }) => <ComposeFrom id={id} isEdit={false} />

function ComposeFrom({ id, isEdit }: { id: string; isEdit: boolean }) {
  const source = useCall('GET /broadcasts/{id}/source', { params: { id } }, { isKept: false })
  return (
    <Page
      title={isEdit ? text.title : text.copyTitle}
      lead={isEdit ? text.lead : text.copyLead}
      back={{ href: `/broadcasts/${id}`, label: text.back }}
    >
      <QueryView query={source}>{(found) => <SourceForm id={id} source={found} isEdit={isEdit} />}</QueryView>
    </Page>
  )
}

/** The draft starts with the content of the broadcast. It is not stored: the broadcast itself is. */
function SourceForm({ id, source, isEdit }: { id: string; source: Source; isEdit: boolean }) {
  const templates = useCall('GET /templates', {}, { live: true })
  const [draft, setDraft] = useState(() => toDraft(source, isEdit))
  return (
    <>
      {source.has_own_values && <Note>{text.ownValues}</Note>}
      {source.has_more_recipients && (
        <Note tone="amber" icon="info">
          {text.partial}
        </Note>
      )}
      <QueryView query={templates}>
        {(found) => (
          <ComposeForm
            templates={found}
            draft={draft}
            onChange={(changes) => setDraft((now) => ({ ...now, ...changes }))}
            onSent={() => {}}
            {...(isEdit ? { editedId: id } : {})}
          />
        )}
      </QueryView>
    </>
  )
}

function toDraft(source: Source, isEdit: boolean): Draft {
  const { name, template, segment_id, recipients, scheduled_at } = source
  const templateRef = { name: template.name, language: template.language }
  const ownValues = recipients.flatMap(({ to, params }) => (params ? [[digitsOf(to), params] as const] : []))
  return {
    ...empty,
    name: isEdit ? name : text.copyName(name),
    source: segment_id ? 'segment' : 'numbers',
    segment_id: segment_id ?? '',
    numbers: recipients.map(toLine).join('\n'),
    template: { ...templateRef, contact_fields: template.contact_fields },
    params: template.params,
    ownValues: source.has_own_values ? { template: templateRef, byNumber: Object.fromEntries(ownValues) } : null,
    isLater: isEdit && scheduled_at !== null,
    at: isEdit && scheduled_at ? toDatetimeLocal(Date.parse(scheduled_at)) : '',
  }
}

/** A recipient as a line of the list. Quotes protect a name with a comma. */
const toLine = ({ to, name }: Source['recipients'][number]): string =>
  name ? `${to}, "${name.replaceAll('"', '""').replaceAll(/\s+/g, ' ')}"` : to
