/** Creates or edits a segment. Its type cannot be changed later. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { Form, InputField, SubmitButton, TextAreaField } from '../../../ui/controls.tsx'
import { Card, ErrorNote } from '../../../ui/display.tsx'
import { type DataOf, isNotFound, useCall, useChange } from '../lib/api.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { ItemNotFound } from '../shell/errors.tsx'
import { LeaveGuard } from '../ui/leave-guard.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { FilterBuilder, useFields } from './builder.tsx'
import { completeFilter, type Fields, type Filter, firstRule } from './rules.ts'

const { segments } = words
const kinds = ['dynamic', 'static'] as const

export function NewSegment() {
  const fields = useFields()
  return <QueryView query={fields}>{(fields) => <SegmentEditor fields={fields} />}</QueryView>
}

export function EditSegment({ id }: { id: string }) {
  const fields = useFields()
  const segment = useCall('GET /segments/{id}', { params: { id } })
  if (isNotFound(segment.error)) return <ItemNotFound {...segments.notFound} href="/segments" />
  return (
    <QueryView query={segment}>
      {(segment) => (
        <QueryView query={fields}>{(fields) => <SegmentEditor fields={fields} segment={segment} />}</QueryView>
      )}
    </QueryView>
  )
}

function SegmentEditor({ fields, segment }: { fields: Fields; segment?: DataOf<'GET /segments/{id}'> }) {
  const [, navigate] = useLocation()
  const [start] = useState(() => ({
    kind: segment?.kind ?? ('dynamic' as (typeof kinds)[number]),
    filter: segment?.filter ?? ({ match: 'all', rules: [firstRule(fields)] } as Filter),
    name: segment?.name ?? '',
    description: segment?.description ?? '',
  }))
  const [kind, setKind] = useState(start.kind)
  const [filter, setFilter] = useState<Filter>(start.filter)
  const complete = completeFilter(fields, filter)
  const stale = ['GET /segments', 'GET /segments/{id}', 'GET /segments/{id}/contacts'] as const
  const onDone = ({ id }: { id: string }) => navigate(`/segments/${id}`)
  const create = useChange('POST /segments', { stale, done: segments.created, onDone })
  const change = useChange('PATCH /segments/{id}', { stale, done: segments.saved, onDone })
  const { error, isPending } = segment ? change : create
  const { values, errors, bind } = useFormFields({ name: start.name, description: start.description }, error)
  const isChanged = JSON.stringify({ ...start, ...values, kind, filter }) !== JSON.stringify(start)
  const submit = () => {
    const body = {
      name: values.name,
      description: values.description.trim() || null,
      ...(kind === 'dynamic' && complete ? { filter: complete } : {}),
    }
    if (segment) change.mutate({ params: { id: segment.id }, body })
    else create.mutate({ body: { ...body, kind } })
  }
  const back = segment
    ? { href: `/segments/${segment.id}`, label: segment.name }
    : { href: '/segments', label: segments.title }
  return (
    <Page title={segment ? segments.editTitle : segments.new} back={back} narrow>
      <LeaveGuard isChanged={isChanged && !isPending} />
      <Form className="stack" onSubmit={submit}>
        <Card>
          <InputField label={segments.name} required maxLength={80} {...bind('name')} />
          <TextAreaField
            label={segments.description}
            hint={segments.optional}
            rows={2}
            maxLength={1000}
            {...bind('description')}
          />
          {!segment && (
            <fieldset className="segments-kinds">
              <legend className="offscreen">{segments.kind}</legend>
              {kinds.map((each) => (
                <label key={each}>
                  <input type="radio" name="kind" checked={kind === each} onChange={() => setKind(each)} />
                  <span>
                    <strong>{segments.kinds[each]}</strong>
                    <small>{segments.kindHints[each]}</small>
                  </span>
                </label>
              ))}
            </fieldset>
          )}
        </Card>
        {kind === 'dynamic' && (
          <Card>
            <FilterBuilder fields={fields} filter={filter} onChange={setFilter} />
          </Card>
        )}
        {errors.rest && <ErrorNote>{errors.rest}</ErrorNote>}
        <div className="row">
          <SubmitButton
            label={segment ? words.common.save : segments.create}
            busy={isPending}
            disabled={kind === 'dynamic' && !complete}
          />
          <LinkButton label={words.common.cancel} href={back.href} />
        </div>
      </Form>
    </Page>
  )
}
