/** The pages that edit a scheduled broadcast, and that write a new one from any broadcast. */
import { type ComponentProps, useState } from 'react'
import { Note } from '../../../ui/display.tsx'
import { useCall } from '../lib/api.ts'
import { Page, QueryView } from '../ui/page.tsx'
import { broadcastWords } from '../words/broadcasts.ts'
import { ComposeForm, DraftPage, SavedDraft, useOpenedQuery } from './compose.tsx'
import { type Draft, type Source, toDraft } from './use-draft.ts'

const { editing: text } = broadcastWords

/** Changes apply when the member confirms them, because the broadcast may start at any time. */
export function EditBroadcast({ id }: { id: string }) {
  const source = useCall('GET /broadcasts/{id}/source', { params: { id } }, { isKept: false })
  return (
    <Page title={text.title} lead={text.lead} back={{ href: `/broadcasts/${id}`, label: text.back }}>
      <QueryView query={source}>{(found) => <EditForm id={id} source={found} />}</QueryView>
    </Page>
  )
}

function EditForm({ id, source }: { id: string; source: Source }) {
  const [draft, setDraft] = useState(() => toDraft(source))
  return (
    <>
      <SourceNotes source={source} />
      <ComposeForm draft={draft} onChange={(changes) => setDraft((now) => ({ ...now, ...changes }))} editedId={id} />
    </>
  )
}

export function CopyBroadcast({ id }: { id: string }) {
  const { query, key, onCreated } = useOpenedQuery()
  const draftId = query.get('draft')
  const page = {
    title: text.copyTitle,
    lead: text.copyLead,
    back: { href: `/broadcasts/${id}`, label: text.back },
    onCreated,
  }
  return draftId ? <SavedDraft key={key} {...page} id={draftId} /> : <NewCopy key={key} {...page} id={id} />
}

function NewCopy({ id, ...page }: ComponentProps<typeof SavedDraft>) {
  const source = useCall('GET /broadcasts/{id}/source', { params: { id } }, { isKept: false })
  const { onCreated: _, ...head } = page
  if (!source.data) {
    return (
      <Page {...head}>
        <QueryView query={source}>{() => null}</QueryView>
      </Page>
    )
  }
  return (
    <DraftPage {...page} start={toCopy(source.data)}>
      <SourceNotes source={source.data} />
    </DraftPage>
  )
}

function toCopy(source: Source): Draft {
  return { ...toDraft(source), name: text.copyName(source.name), isLater: false, at: '' }
}

const SourceNotes = ({ source }: { source: Source }) => (
  <>
    {source.has_own_values && <Note>{text.ownValues}</Note>}
    {source.has_more_recipients && (
      <Note tone="amber" icon="info">
        {text.partial}
      </Note>
    )}
  </>
)
