/** The workspace itself: its name, the country its numbers are read in, and the words that stop broadcasts. */
import { type FormEvent, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Card } from '../../../ui/card.tsx'
import { Field, Input, Select } from '../../../ui/form.tsx'
import { Note } from '../../../ui/note.tsx'
import { useToast } from '../../../ui/toast.tsx'
import { type DataOf, useCall, useChange } from '../lib/api.ts'
import { countries } from '../lib/countries.ts'
import { faultsOf } from '../lib/faults.ts'
import { useIsManager } from '../lib/session.tsx'
import { Asked, Page } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { StopWords } from './stop-words.tsx'

const { workspace: text } = words.settings

export type WorkspaceView = DataOf<'GET /workspace'>

export function Workspace() {
  const asked = useCall('GET /workspace', {})
  const isManager = useIsManager()
  return (
    <Page title={text.title} lead={text.lead} narrow>
      {!isManager && <Note>{words.common.onlyManagers}</Note>}
      <Asked query={asked}>
        {(workspace) => (
          <>
            <General of={workspace} isManager={isManager} />
            <StopWords of={workspace} isManager={isManager} />
          </>
        )}
      </Asked>
    </Page>
  )
}

function General({ of: stored, isManager }: { of: WorkspaceView; isManager: boolean }) {
  const toast = useToast()
  const [name, setName] = useState(stored.name)
  const [country, setCountry] = useState(stored.default_country)
  const save = useChange('PATCH /workspace', {
    stale: ['GET /workspace', 'GET /session'],
    onDone: ({ name }) => {
      setName(name)
      toast.done(words.common.saved)
    },
  })
  const faults = faultsOf(save.error, ['name', 'default_country'])
  const isSame = name === stored.name && country === stored.default_country
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate({ body: { name, default_country: country } })
  }
  return (
    <Card title={text.general}>
      <form className="settings-form" onSubmit={submit}>
        <Field label={text.name} hint={text.nameHint} fault={faults.name ?? faults.rest}>
          {(wiring) => (
            <Input
              {...wiring}
              required
              autoComplete="organization"
              disabled={!isManager}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <Field label={text.country} hint={text.countryHint} fault={faults.default_country}>
          {(wiring) => (
            <Select
              {...wiring}
              disabled={!isManager}
              value={country}
              onChange={(event) => setCountry(event.target.value)}
            >
              {withStored(stored.default_country).map(({ code, name }) => (
                <option key={code} value={code}>
                  {name}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {isManager && (
          <div className="row">
            <Button type="submit" variant="primary" busy={save.isPending} disabled={isSame}>
              {words.common.save}
            </Button>
          </div>
        )}
      </form>
    </Card>
  )
}

/** The service knows a few more countries than the list: what is stored must be there to be chosen. */
const withStored = (code: string) =>
  countries.some((country) => country.code === code) ? countries : [{ code, name: code }, ...countries]
