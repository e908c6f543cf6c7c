/** Saved views of the inbox: applies, deletes and saves them. */

import { useState } from 'react'
import { Checkbox, Form, IconButton, InputField, SubmitButton } from '../../../../ui/controls.tsx'
import { ErrorNote } from '../../../../ui/display.tsx'
import { useToast } from '../../../../ui/overlays.tsx'
import { call, describeError, type ItemOf, invalidate, useCall, useChange } from '../../lib/api.ts'
import { useCanWrite } from '../../lib/session.tsx'
import { QueryState } from '../../ui/page.tsx'
import { type Anchor, Popover } from '../../ui/popover.tsx'
import { words } from '../../words/words.ts'
import { fromQuery, setFilters, toQuery, useFilters } from '../model/filters.ts'
import { moveBetweenChoices } from './snooze-dialog.tsx'

const { flow } = words.inbox

type View = ItemOf<'GET /views'>

export default function ViewDialog({ anchor, onClose }: { anchor: Anchor | undefined; onClose: () => void }) {
  const views = useCall('GET /views', {})
  const { filters } = useFilters()
  const toast = useToast()
  const canWrite = useCanWrite()
  const [name, setName] = useState('')
  const [isShared, setShared] = useState(false)
  const create = useChange('POST /views', {
    stale: ['GET /views', 'GET /inbox/counts'],
    done: (view) => flow.saved(view.name),
    onDone: () => setName(''),
  })
  const remove = useChange('DELETE /views/{id}', { stale: ['GET /views'], reportsError: true })
  const removeView = ({ id, ...view }: View) => {
    remove.mutate({ params: { id } })
    const restore = async () => {
      await call('POST /views', { body: view })
      await Promise.all([invalidate({ queryKey: ['GET /views'] }), invalidate({ queryKey: ['GET /inbox/counts'] })])
    }
    toast.success(flow.deletedView(view.name), () => void restore().catch(toast.error))
  }
  const submit = () => create.mutate({ body: { name, is_shared: isShared, filters: toQuery(filters) } })
  return (
    <Popover title={flow.views} anchor={anchor} onClose={onClose}>
      {!views.data && <QueryState query={views} lines={3} />}
      {views.data?.length === 0 && <p className="hint">{flow.noViews}</p>}
      <ul className="inbox-choices" onKeyDown={moveBetweenChoices}>
        {views.data?.map((view, index) => (
          <li key={view.id}>
            <button
              type="button"
              data-focus={index === 0 ? '' : undefined}
              onClick={() => {
                setFilters(fromQuery(view.filters))
                onClose()
              }}
            >
              {view.name}
              <small>{view.is_shared ? flow.viewsShared : flow.viewsMine}</small>
            </button>
            {canWrite && (
              <IconButton label={flow.deleteView(view.name)} icon="trash" onClick={() => removeView(view)} />
            )}
          </li>
        ))}
      </ul>
      {canWrite && (
        <Form className="inbox-view-form" onSubmit={submit}>
          <h3>{flow.saveView}</h3>
          <InputField
            label={flow.viewName}
            required
            maxLength={80}
            value={name}
            autoComplete="off"
            onChange={(event) => setName(event.target.value)}
          />
          <Checkbox label={flow.share} checked={isShared} onChange={(event) => setShared(event.target.checked)} />
          {create.error && <ErrorNote>{describeError(create.error)}</ErrorNote>}
          <div className="dialog-foot">
            <SubmitButton label={flow.save} busy={create.isPending} disabled={name.trim() === ''} />
          </div>
        </Form>
      )}
    </Popover>
  )
}
