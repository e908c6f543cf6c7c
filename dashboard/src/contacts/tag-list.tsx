/** All tags of the workspace with their number of contacts; renames and deletes tags. */
import { type KeyboardEvent, useId, useState } from 'react'
import { Button, Form, IconButton, Input } from '../../../ui/controls.tsx'
import { Dialog } from '../../../ui/overlays.tsx'
import { type ItemOf, useCall, useChange } from '../lib/api.ts'
import { fieldErrorOf } from '../lib/field-errors.ts'
import { ConfirmCall } from '../ui/dialogs.tsx'
import { QueryView } from '../ui/page.tsx'
import { Tag } from '../ui/tag.tsx'
import { words } from '../words/words.ts'

const { tagList } = words.contacts
const stale = ['GET /tags', 'GET /contacts'] as const

export function TagList({ onClose }: { onClose: () => void }) {
  const tags = useCall('GET /tags', {})
  return (
    <Dialog title={tagList.title} onClose={onClose}>
      <p className="soft">{tagList.lead}</p>
      <QueryView query={tags}>
        {(all) =>
          all.length === 0 ? (
            <p>{tagList.none}</p>
          ) : (
            <ul className="contacts-tag-list">
              {all.map((tag) => (
                <Row key={tag.id} tag={tag} />
              ))}
            </ul>
          )
        }
      </QueryView>
    </Dialog>
  )
}

function Row({ tag: { id, name, color, contact_count: count } }: { tag: ItemOf<'GET /tags'> }) {
  const [mode, setMode] = useState<'rename' | 'delete'>()
  const [draft, setDraft] = useState(name)
  const errorId = useId()
  const rename = useChange('PATCH /tags/{id}', { stale, done: tagList.renamed, onDone: () => setMode(undefined) })
  const submit = () => rename.mutate({ params: { id }, body: { name: draft } })
  // Escape cancels renaming and keeps the dialog open.
  const cancelRename = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return
    event.preventDefault()
    setDraft(name)
    setMode(undefined)
    rename.reset()
  }
  return (
    <li>
      {mode === 'rename' ? (
        <Form onSubmit={submit}>
          <Input
            autoFocus
            aria-label={tagList.renameLabel(name)}
            aria-invalid={rename.error ? true : undefined}
            aria-describedby={rename.error ? errorId : undefined}
            value={draft}
            maxLength={80}
            onKeyDown={cancelRename}
            onChange={(event) => setDraft(event.target.value)}
          />
          <Button label={tagList.rename} type="submit" size="small" busy={rename.isPending} />
        </Form>
      ) : (
        <>
          <span className="grow row">
            <Tag name={name} color={color} />
            <span className="soft small numeric">{tagList.contactCount(count)}</span>
          </span>
          <IconButton icon="edit" label={tagList.renameTag(name)} onClick={() => setMode('rename')} />
          <IconButton icon="trash" label={tagList.deleteTag(name)} onClick={() => setMode('delete')} />
        </>
      )}
      {rename.error && (
        <p className="error contacts-error" id={errorId} role="alert">
          {fieldErrorOf(rename.error, 'name')}
        </p>
      )}
      {mode === 'delete' && (
        <ConfirmCall
          title={tagList.deleteTitle(name)}
          text={tagList.deleteText}
          action={tagList.delete}
          danger
          call="DELETE /tags/{id}"
          input={{ params: { id } }}
          stale={stale}
          done={tagList.deleted}
          onClose={() => setMode(undefined)}
        />
      )}
    </li>
  )
}
