/**
 * Reads what the provider reports about the account and its templates: restrictions, limits, quality, categories.
 *
 * Each report becomes a signal that members see on the channel's card. A change of a template also changes our copy. A
 * signal has one key for what it is about, so the card shows the latest state of each.
 */
import { nowIso } from '../../lib/clock.ts'
import type { Report, Severity, TemplateChanges } from '../channel.ts'
import { idOf, ignored, type Json, malformed, phoneOf, recordOf, recordsOf, textOf } from '../reading.ts'

const maxText = 500

export function signal(
  key: string,
  severity: Severity | 'resolved',
  text: string,
  { at = nowIso(), expires_at = null }: { at?: string; expires_at?: string | null } = {},
): Report {
  return { kind: 'signal', key, severity, text: textOf(text, maxText) ?? key, at, expires_at }
}

/** Reports of a change of the account; undefined for a field that is not about the account. */
export function readAccountChange(field: unknown, value: Json, at: string): Report[] | undefined {
  switch (field) {
    case 'account_update':
      return [readAccountUpdate(value, at)]
    case 'account_alerts':
      return [readAlert(value, at)]
    case 'account_review_update':
      return [readReview(value, at)]
    case 'phone_number_quality_update':
      return [readNumberQuality(value, at)]
    case 'phone_number_name_update':
      return [readNumberName(value, at)]
    case 'message_template_status_update':
      return readTemplateStatus(value, at)
    case 'message_template_quality_update':
      return readTemplateQuality(value, at)
    case 'template_category_update':
      return readTemplateCategory(value, at)
    case 'history':
      return [
        signal('history', 'info', 'The provider sent the chat history of the phone app. It is not imported.', { at }),
      ]
    default:
      return undefined
  }
}

const restrictions: Readonly<Record<string, string>> = {
  RESTRICTED_BIZ_INITIATED_MESSAGING: 'it cannot start conversations',
  RESTRICTED_CUSTOMER_INITIATED_MESSAGING: 'it cannot reply to customers',
  RESTRICTED_ADD_PHONE_NUMBER_ACTION: 'it cannot add phone numbers',
  RESTRICTED_BIZ_INITIATED_CALLING: 'it cannot call customers',
  RESTRICTED_USER_INITIATED_CALLING: 'customers cannot call it',
}

function readAccountUpdate(value: Json, at: string): Report {
  const event = wordOf(value.event)
  const limits = recordsOf(value.restriction_info)
  if (event === 'ACCOUNT_RESTRICTION' || limits.length > 0) {
    const types = limits.map(({ restriction_type: type }) => wordOf(type)).filter((type) => type !== undefined)
    const named = types.map((type) => (Object.hasOwn(restrictions, type) ? restrictions[type] : lower(type)))
    const ends = limits.map(({ expiration }) => futureOf(expiration))
    // Several restrictions end when the last one does; one without an end never does.
    const expires_at = ends.length > 0 && ends.every((end) => end !== null) ? (ends.toSorted().at(-1) ?? null) : null
    const text = `The provider restricted this account${named.length > 0 ? `: ${named.join(', ')}` : ''}.`
    return signal('account_restriction', 'restriction', text, { at, expires_at })
  }
  const ban = recordOf(value.ban_info)
  if (event === 'DISABLED_UPDATE' || ban) {
    const state = wordOf(ban?.waba_ban_state) ?? wordOf(Array.isArray(ban?.waba_ban_state) && ban.waba_ban_state[0])
    if (state === 'REINSTATE') return signal('account_ban', 'info', 'The provider reinstated this account.', { at })
    const date = textOf(ban?.waba_ban_date, 50)
    const text =
      state === 'SCHEDULE_FOR_DISABLE'
        ? `The provider will disable this account${date ? ` on ${date}` : ''}.`
        : `The provider disabled this account${date ? ` on ${date}` : ''}.`
    return signal('account_ban', 'restriction', text, { at })
  }
  if (event === 'ACCOUNT_DELETED') {
    return signal('account_deleted', 'restriction', 'This account was deleted at the provider.', { at })
  }
  const violation = wordOf(recordOf(value.violation_info)?.violation_type)
  if (event === 'ACCOUNT_VIOLATION' || violation) {
    const text = `The provider found a policy violation${violation ? `: ${lower(violation)}` : ''}.`
    return signal('account_violation', 'warning', text, { at })
  }
  return ignored('an unknown account update', value.event)
}

function readAlert(value: Json, at: string): Report {
  const { alert_type, alert_severity, alert_status, alert_description } = recordOf(value.alert_info) ?? value
  const type = wordOf(alert_type)
  const text = textOf(alert_description, maxText) ?? (type && sentence(lower(type)))
  if (!type || !text) return malformed('an alert without type')
  const status = wordOf(alert_status)
  const isOver = status !== undefined && status !== 'ACTIVE'
  const severity = wordOf(alert_severity) === 'INFORMATIONAL' ? 'info' : 'warning'
  return signal(`alert:${type}`, isOver ? 'resolved' : severity, text, { at })
}

function readReview({ decision }: Json, at: string): Report {
  const word = wordOf(decision)
  if (!word) return malformed('a review without a decision')
  const severity = word === 'REJECTED' ? 'restriction' : word === 'APPROVED' ? 'resolved' : 'info'
  return signal('account_review', severity, `Review of this account by the provider: ${lower(word)}.`, { at })
}

function readNumberQuality(value: Json, at: string): Report {
  const event = wordOf(value.event)
  if (!event) return malformed('a quality update without an event')
  const number = numberOf(value)
  const limit = tierOf(value.current_limit) ?? tierOf(value.max_daily_conversations_per_business)
  const texts: Record<string, string> = {
    FLAGGED: `The provider flagged ${number} for low quality.`,
    UNFLAGGED: `${number} is no longer flagged for low quality.`,
    DOWNGRADE: `The provider lowered the sending limit of ${number}.`,
    UPGRADE: `The provider raised the sending limit of ${number}.`,
    THROUGHPUT_UPGRADE: `The provider raised the throughput of ${number}.`,
  }
  const text = Object.hasOwn(texts, event) ? texts[event] : `${number}: ${lower(event)}.`
  const isBad = event === 'FLAGGED' || event === 'DOWNGRADE'
  return signal(`number_quality:${number}`, isBad ? 'warning' : 'info', `${text}${limit ? ` Limit: ${limit}.` : ''}`, {
    at,
  })
}

function readNumberName(value: Json, at: string): Report {
  const decision = wordOf(value.decision)
  if (!decision) return malformed('a name update without a decision')
  const name = textOf(value.requested_verified_name, 100)
  const reason = wordOf(value.rejection_reason)
  const isBad = decision === 'REJECTED'
  const text = `Display name${name ? ` “${name}”` : ''} of ${numberOf(value)}: ${lower(decision)}`
  const why = isBad && reason && reason !== 'NONE' ? ` (${lower(reason)})` : ''
  return signal(`number_name:${numberOf(value)}`, isBad ? 'warning' : 'info', `${text}${why}.`, { at })
}

/** Statuses of a template that require an action of the business. */
const badStatuses = new Set(['REJECTED', 'PAUSED', 'DISABLED', 'FLAGGED', 'LOCKED', 'LIMIT_EXCEEDED'])

function readTemplateStatus(value: Json, at: string): Report[] {
  const event = wordOf(value.event)
  const template = templateOf(value)
  if (!template || !event) return [malformed('a template status without name, language or event')]
  const status = event === 'REINSTATED' || event === 'UNARCHIVED' ? 'APPROVED' : event
  const reason = wordOf(value.reason)
  const status_reason =
    textOf(recordOf(value.rejection_info)?.reason, maxText) ??
    textOf(recordOf(value.other_info)?.description, maxText) ??
    (reason && reason !== 'NONE' ? sentence(lower(reason)) : null)
  const text = `Template ${template.shown} is ${lower(status)} at the provider.${status_reason ? ` ${status_reason}` : ''}`
  return [
    changed(template, { status, status_reason }),
    signal(`template_status:${template.key}`, badStatuses.has(status) ? 'warning' : 'resolved', text, { at }),
  ]
}

const qualityWords: Readonly<Record<string, string>> = { YELLOW: 'medium', RED: 'low' }

function readTemplateQuality(value: Json, at: string): Report[] {
  const quality = wordOf(value.new_quality_score)
  const template = templateOf(value)
  if (!template || !quality) return [malformed('a template quality without name, language or score')]
  const word = Object.hasOwn(qualityWords, quality) ? qualityWords[quality] : undefined
  const text = `Quality of template ${template.shown} is ${word ?? lower(quality)}. The provider may pause it.`
  return [
    changed(template, { quality }),
    signal(`template_quality:${template.key}`, word ? 'warning' : 'resolved', text, { at }),
  ]
}

function readTemplateCategory(value: Json, at: string): Report[] {
  const category = wordOf(value.new_category)
  const correct = wordOf(value.correct_category)
  const template = templateOf(value)
  if (!template || !category) return [malformed('a template category without name, language or category')]
  const text =
    correct && correct !== category
      ? `The provider will change the category of template ${template.shown} to ${lower(correct)}.`
      : `The provider changed the category of template ${template.shown} to ${lower(category)}.`
  return [
    changed(template, { category }),
    signal(`template_category:${template.key}`, 'warning', `${text} Its price may change.`, { at }),
  ]
}

type TemplateName = { name: string; language: string; key: string; shown: string }

function templateOf(value: Json): TemplateName | undefined {
  const name = idOf(value.message_template_name)
  // Samples write `en-US` here, and `en_US` everywhere else.
  const language = idOf(value.message_template_language)?.replaceAll('-', '_')
  if (!name || !language) return undefined
  const shown = textOf(`${name} (${language})`, 200) ?? name
  return { name, language, key: textOf(`${name}:${language}`, 400) ?? name, shown }
}

const changed = ({ name, language }: TemplateName, changes: TemplateChanges): Report => ({
  kind: 'template',
  name,
  language,
  changes,
})

/** A word of the provider, such as `ACCOUNT_RESTRICTION`. */
function wordOf(value: unknown): string | undefined {
  const word = typeof value === 'string' ? value.toUpperCase() : ''
  return /^[A-Z][A-Z_]{0,63}$/.test(word) ? word : undefined
}

const lower = (word: string): string => word.toLowerCase().replaceAll('_', ' ')
const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`

const numberOf = ({ display_phone_number: number }: Json): string =>
  phoneOf(number) ?? textOf(number, 50) ?? 'the number'

/** `TIER_1K`: the number of customers to whom the business may write first within 24 hours. */
function tierOf(value: unknown): string | undefined {
  const [, count, thousand] = (typeof value === 'string' && /^TIER_(\d{1,9})(K?)$/.exec(value)) || []
  if (count) return `${(Number(count) * (thousand ? 1_000 : 1)).toLocaleString('en-US')} customers in 24 hours`
  return value === 'TIER_UNLIMITED' ? 'none' : undefined
}

/** The end of a restriction, any time in the future. `timeOf` accepts only times that have passed. */
function futureOf(value: unknown): string | null {
  const seconds = typeof value === 'string' && /^\d{1,11}$/.test(value) ? Number(value) : value
  if (typeof seconds !== 'number' || !(seconds > 1e9) || seconds >= 1e11) return null
  return new Date(seconds * 1000).toISOString()
}
