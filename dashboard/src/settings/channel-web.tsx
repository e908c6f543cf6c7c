/**
 * A site of the web channel: the script tag, the site ID, the settings of the chat widget with a preview, and the secret with
 * which the site's server signs who its customers are.
 */
import { useState } from 'react'
import {
  Button,
  Field,
  Form,
  Input,
  InputField,
  SegmentedControl,
  SelectField,
  Switch,
  TextAreaField,
} from '../../../ui/controls.tsx'
import { Card, Secret } from '../../../ui/display.tsx'
import { type DataOf, useCall, useChange } from '../lib/api.ts'
import type { Connection } from '../lib/connections.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { formatTime } from '../lib/time.ts'
import { CallButton, ConfirmButton, SecretDialog } from '../ui/dialogs.tsx'
import { CopyableCode, Facts } from '../ui/facts.tsx'
import { LeaveGuard } from '../ui/leave-guard.tsx'
import { QueryView } from '../ui/page.tsx'
import { settingsWords } from '../words/settings.ts'
import { words } from '../words/words.ts'
import { isDifferent, SaveRow } from './save-row.tsx'
import { WidgetPreview } from './widget-preview.tsx'

const { widget: text, identity: identityText } = settingsWords.channels.web

type Widget = DataOf<'GET /channels/{id}/widget'>

/** `isOpen`: the settings are the page, and not a part of a card. */
function WidgetSettings({ id, isOpen }: { id: string; isOpen: boolean }) {
  const query = useCall('GET /channels/{id}/widget', { params: { id } })
  return (
    <>
      <details className="settings-advanced" open={isOpen || undefined}>
        <summary>{text.title}</summary>
        <QueryView query={query} lines={4}>
          {(stored) => <WidgetForm widget={stored} />}
        </QueryView>
      </details>
      <details className="settings-advanced" open={isOpen || undefined}>
        <summary>{identityText.title}</summary>
        <QueryView query={query} lines={2}>
          {({ identity_secret_at: createdAt }) => <IdentitySecret id={id} createdAt={createdAt} />}
        </QueryView>
      </details>
    </>
  )
}

function IdentitySecret({ id, createdAt }: { id: string; createdAt: string | null }) {
  const [secret, setSecret] = useState<string>()
  const creation = {
    call: 'POST /channels/{id}/identity-secret',
    input: { params: { id } },
    stale: ['GET /channels/{id}/widget'],
    onDone: (data: DataOf<'POST /channels/{id}/identity-secret'>) => setSecret(data.secret),
  } as const
  return (
    <div className="stack settings-form">
      <p>{identityText.text}</p>
      <Facts
        className="settings-facts"
        facts={{
          [identityText.fact]: createdAt ? identityText.created(formatTime(createdAt)) : identityText.none,
        }}
      />
      {createdAt ? (
        <div className="row">
          <ConfirmButton
            {...creation}
            button={<Button label={identityText.replace} icon="key" />}
            title={identityText.replaceTitle}
            text={identityText.replaceText}
            action={identityText.replace}
          />
          <ConfirmButton
            call="DELETE /channels/{id}/identity-secret"
            input={{ params: { id } }}
            stale={['GET /channels/{id}/widget']}
            done={identityText.removed}
            button={<Button label={identityText.remove} variant="quiet" />}
            title={identityText.removeTitle}
            text={identityText.removeText}
            action={identityText.remove}
            danger
          />
        </div>
      ) : (
        <div className="row">
          <CallButton {...creation} label={identityText.create} icon="key" />
        </div>
      )}
      {secret && (
        <SecretDialog
          title={identityText.secretTitle}
          warning={identityText.secretText}
          secret={secret}
          done={identityText.secretDone}
          onDone={() => setSecret(undefined)}
        />
      )}
    </div>
  )
}

function WidgetForm({ widget: stored }: { widget: Widget }) {
  const [position, setPosition] = useState(stored.position)
  const [askDetails, setAskDetails] = useState(stored.ask_details)
  const [memberNames, setMemberNames] = useState(stored.member_names)
  const [showsReplyTime, setShowsReplyTime] = useState(stored.show_reply_time)
  const save = useChange('PATCH /channels/{id}/widget', {
    stale: ['GET /channels/{id}/widget'],
    done: words.common.saved,
    onDone: ({ allowed_origins }) => setValues((now) => ({ ...now, allowed_origins: allowed_origins.join('\n') })),
  })
  const { values, setValues, errors, bind } = useFormFields(
    {
      title: stored.title ?? '',
      greeting: stored.greeting ?? '',
      color: stored.color,
      allowed_origins: stored.allowed_origins.join('\n'),
    },
    save.error,
    ['position', 'ask_details', 'member_names'],
  )
  const { title, greeting, color } = values
  const body = {
    ...{ title: title.trim(), greeting: greeting.trim(), color, position },
    ...{ ask_details: askDetails, member_names: memberNames, show_reply_time: showsReplyTime },
    allowed_origins: values.allowed_origins.split(/\s+/).filter(Boolean),
  }
  const isChanged = isDifferent(body, { ...stored, title: stored.title ?? '', greeting: stored.greeting ?? '' })
  return (
    <Form className="settings-widget" onSubmit={() => save.mutate({ params: { id: stored.id }, body })}>
      <div className="stack settings-form">
        <InputField
          label={text.name}
          hint={text.nameHint}
          autoComplete="off"
          placeholder={text.namePlaceholder}
          {...bind('title', 'rest')}
        />
        <TextAreaField label={text.greeting} rows={2} placeholder={text.greetingPlaceholder} {...bind('greeting')} />
        <Field label={text.color} {...bind('color')}>
          {(wiring) => <input {...wiring} type="color" className="settings-color" />}
        </Field>
        <div>
          <p className="settings-label">{text.position}</p>
          <SegmentedControl
            label={text.position}
            value={position}
            options={[
              { value: 'left', label: text.positions.left },
              { value: 'right', label: text.positions.right },
            ]}
            onChange={setPosition}
          />
        </div>
        <SelectField
          label={text.details}
          hint={text.detailsHint}
          error={errors.ask_details}
          value={askDetails}
          options={askDetailsOptions.map((option) => [option, text.detailsOptions[option]])}
          onChange={({ target }) => setAskDetails(askDetailsOptions.find((one) => one === target.value) ?? 'never')}
        />
        <SelectField
          label={text.names}
          hint={text.namesHint}
          error={errors.member_names}
          value={memberNames}
          options={memberNamesOptions.map((option) => [option, text.namesOptions[option]])}
          onChange={({ target }) => setMemberNames(memberNamesOptions.find((one) => one === target.value) ?? 'first')}
        />
        <Switch
          label={text.replyTime}
          hint={text.replyTimeHint}
          checked={showsReplyTime}
          onChange={({ target }) => setShowsReplyTime(target.checked)}
        />
        <TextAreaField
          label={text.origins}
          hint={text.originsHint}
          rows={3}
          spellCheck={false}
          placeholder={text.originsPlaceholder}
          {...bind('allowed_origins')}
        />
        <SaveRow isBusy={save.isPending} isChanged={isChanged} />
      </div>
      <WidgetPreview
        title={title.trim() || null}
        greeting={greeting.trim() || null}
        color={color}
        position={position}
        askDetails={askDetails}
        memberNames={memberNames}
        showsReplyTime={showsReplyTime}
      />
    </Form>
  )
}

const askDetailsOptions: readonly Widget['ask_details'][] = ['never', 'optional', 'required']

const memberNamesOptions: readonly Widget['member_names'][] = ['first', 'full', 'hidden']

const { channels } = settingsWords

type SiteProps = { connection: Connection; isManager: boolean }

/** A site on its card. */
export const WebChannel = ({ connection, isManager }: SiteProps) => (
  <>
    <Snippet connection={connection} />
    {isManager && <WidgetSettings id={connection.id} isOpen={false} />}
  </>
)

/** The page of a site. */
export function SiteSettings({ connection }: { connection: Connection }) {
  return (
    <>
      <Card title={channels.web.code}>
        <Snippet connection={connection} />
      </Card>
      <SiteHost key={connection.address} connection={connection} />
      <Card>
        <WidgetSettings id={connection.id} isOpen />
      </Card>
    </>
  )
}

export function Snippet({ connection: { id } }: { connection: Connection }) {
  const snippet = `<script src="${location.origin}/widget.js" data-site="${id}" async></script>`
  return (
    <>
      <p>{channels.web.paste}</p>
      <Secret text={snippet} />
      <Facts
        className="settings-facts"
        facts={{ [channels.web.siteId]: <CopyableCode text={id} label={channels.web.copySiteId} /> }}
      />
    </>
  )
}

/** The host by which members distinguish sites. It limits nothing. */
function SiteHost({ connection: { id, address } }: { connection: Connection }) {
  const save = useChange('PATCH /channels/{id}', { stale: ['GET /channels'], done: words.common.saved })
  const { values, bind } = useFormFields({ address: address ?? '' }, save.error)
  const isChanged = values.address.trim() !== (address ?? '')
  return (
    <Card title={channels.host}>
      <Form
        className="settings-inline"
        onSubmit={() => save.mutate({ params: { id }, body: { address: values.address } })}
      >
        <Field label={channels.host} hint={channels.hostHint} {...bind('address', 'rest')}>
          {(wiring) => (
            <div className="settings-inline-input">
              <Input {...wiring} placeholder={settingsWords.channels.hostExample} />
              <Button label={words.common.save} type="submit" busy={save.isPending} disabled={!isChanged} />
            </div>
          )}
        </Field>
        <LeaveGuard isChanged={isChanged && !save.isPending} />
      </Form>
    </Card>
  )
}
