/** The customers: the shown phones as a row of tabs, a dialog with all of them, and a dialog that adds one. */
import { useEffect, useRef, useState } from 'react'
import {
  Button,
  Checkbox,
  Form,
  InputField,
  SearchInput,
  SegmentedControl,
  SubmitButton,
} from '../../../ui/controls.tsx'
import { Avatar, Badge } from '../../../ui/display.tsx'
import { Dialog } from '../../../ui/overlays.tsx'
import type { Customer } from './api.ts'
import { addressOf, type Board, channelNames, keyOf, lastMessage, newestFirst, titleOf } from './board.ts'
import { summaryOf } from './format.tsx'
import { randomCustomer } from './samples.ts'

const maxListed = 60

type CustomerBarProps = { board: Board; onOpen: (customer: Customer) => void; onShowAll: () => void }

export function CustomerBar({ board: { phones, shown, unread, current }, onOpen, onShowAll }: CustomerBarProps) {
  const bar = useRef<HTMLElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the current tab stays in view.
  useEffect(() => {
    const tab = bar.current?.querySelector<HTMLElement>('[aria-current]')
    if (tab) bar.current?.scrollTo({ left: tab.offsetLeft - (bar.current.clientWidth - tab.offsetWidth) / 2 })
  }, [current, shown])
  const hiddenUnread = [...unread].reduce((sum, [key, count]) => (shown.includes(key) ? sum : sum + count), 0)
  return (
    <nav className="customers" aria-label="Customers" ref={bar}>
      {shown.map((key) => {
        const phone = phones.get(key)
        if (!phone) return null
        return (
          <button
            key={key}
            type="button"
            className="line customer"
            title={`${addressOf(phone)} · ${channelNames[phone.channel]}`}
            aria-current={key === current || undefined}
            onClick={() => onOpen(phone)}
          >
            <Avatar name={titleOf(phone)} size="small" />
            <bdi className="cut">{titleOf(phone)}</bdi>
            <Unread count={unread.get(key) ?? 0} />
          </button>
        )
      })}
      {phones.size > shown.length && (
        <button type="button" className="line customer" aria-haspopup="dialog" onClick={onShowAll}>
          {phones.size - shown.length} more
          <Unread count={hiddenUnread} />
        </button>
      )}
    </nav>
  )
}

const Unread = ({ count }: { count: number }) =>
  count > 0 && (
    <Badge tone="red">
      {count > 99 ? '99+' : count}
      <span className="offscreen"> unread</span>
    </Badge>
  )

type DialogProps = { onOpen: (customer: Customer) => void; onClose: () => void }

export function AllCustomers({ phones, onOpen, onClose }: DialogProps & { phones: Board['phones'] }) {
  const [search, setSearch] = useState('')
  const wanted = search.trim().toLowerCase().replace(/^@/, '')
  const found = newestFirst(phones.values()).filter((phone) =>
    `${titleOf(phone)} ${addressOf(phone)} ${phone.id}`.toLowerCase().includes(wanted),
  )
  return (
    <Dialog title="All customers" onClose={onClose}>
      <SearchInput
        label="Find a customer"
        placeholder="Name or number"
        value={search}
        onChange={(event) => setSearch(event.target.value)}
      />
      <p className="small soft" role="status">
        {found.length} found{found.length > maxListed && `, the latest ${maxListed} are shown`}
      </p>
      <ul>
        {found.slice(0, maxListed).map((phone) => {
          const last = lastMessage(phone)
          return (
            <li key={keyOf(phone)}>
              <button type="button" className="line customer-row" onClick={() => onOpen(phone)}>
                <Avatar name={titleOf(phone)} />
                <span className="grow">
                  <bdi>{titleOf(phone)}</bdi>
                  <small className="cut">
                    {addressOf(phone)} · {channelNames[phone.channel]}
                  </small>
                  {last && (
                    <small className="cut" dir="auto">
                      {summaryOf(last)}
                    </small>
                  )}
                </span>
              </button>
            </li>
          )
        })}
      </ul>
    </Dialog>
  )
}

export function AddCustomer({ onOpen, onClose }: DialogProps) {
  const [channel, setChannel] = useState<Customer['channel']>('msgapp')
  const [values, setValues] = useState(randomCustomer)
  const [isHidden, setHidden] = useState(false)
  const [fault, setFault] = useState('')
  const isSocial = channel === 'social'
  const bind = (name: keyof typeof values) => ({
    value: values[name],
    autoComplete: 'off',
    spellCheck: false,
    onChange: (event: { target: { value: string } }) => setValues({ ...values, [name]: event.target.value }),
  })
  function submit() {
    const name = values.name.trim() || null
    const username = values.username.trim().replace(/^@/, '') || null
    if (isSocial) {
      const id = values.userId.trim()
      if (!/^[\w.-]{1,64}$/.test(id)) return setFault('Use letters and digits without spaces.')
      return onOpen({ channel, id, name, username })
    }
    if (isHidden) {
      if (username === null) return setFault('Enter a username.')
      return onOpen({ channel, id: values.hiddenId, name: null, username })
    }
    const id = values.number.replace(/[\s().-]/g, '')
    if (!/^\+[1-9]\d{6,14}$/.test(id)) return setFault('Enter a + and 7 to 15 digits, such as +14155550100.')
    onOpen({ channel, id, name, username: null })
  }
  return (
    <Dialog title="Add customer" onClose={onClose}>
      <Form onSubmit={submit} noValidate>
        <SegmentedControl
          label="Channel"
          value={channel}
          options={[
            { value: 'msgapp', label: channelNames.msgapp },
            { value: 'social', label: channelNames.social },
          ]}
          onChange={(next) => {
            setChannel(next)
            setFault('')
          }}
        />
        {!isSocial && (
          <Checkbox
            label="Customer without a number"
            hint="The number is hidden behind a username"
            checked={isHidden}
            onChange={(event) => {
              setHidden(event.target.checked)
              setFault('')
            }}
          />
        )}
        {isSocial ? (
          <>
            <InputField
              label="User id"
              hint="The id that the channel gives this person"
              error={fault}
              {...bind('userId')}
            />
            <InputField label="Username" {...bind('username')} />
          </>
        ) : isHidden ? (
          <InputField label="Username" hint={`User id ${values.hiddenId}`} error={fault} {...bind('username')} />
        ) : (
          <InputField
            label="Number"
            hint="With the country code, starting with +"
            error={fault}
            {...bind('number')}
            type="tel"
          />
        )}
        {(isSocial || !isHidden) && <InputField label="Name" {...bind('name')} />}
        <div className="dialog-foot">
          <Button label="Other values" icon="refresh" onClick={() => setValues(randomCustomer())} />
          <SubmitButton label="Add customer" />
        </div>
      </Form>
    </Dialog>
  )
}
