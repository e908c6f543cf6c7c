/** Parses the `content` of a message, which can have any shape. A part of an unexpected type is treated as missing. */
export type Details = Record<string, unknown>

export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() ? value : typeof value === 'number' ? String(value) : undefined

export const recordOf = (value: unknown): Details | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : undefined

export const recordsOf = (value: unknown): Details[] =>
  Array.isArray(value) ? value.map(recordOf).filter((item) => item !== undefined) : []

/** A location. Degrees can be numbers or strings. */
export function locationOf(content: Details | null) {
  const location = recordOf(content?.location)
  const [latitude, longitude] = [location?.latitude, location?.longitude].map((degrees) => Number(textOf(degrees)))
  if (latitude === undefined || longitude === undefined || !Number.isFinite(latitude + longitude)) return undefined
  return { latitude, longitude, name: textOf(location?.name), address: textOf(location?.address) }
}

/** Contact cards: name, phone numbers, email addresses and company. */
export function cardsOf(content: Details | null) {
  return recordsOf(content?.contacts).map((contact) => {
    const name = recordOf(contact.name)
    const parts = [textOf(name?.first_name), textOf(name?.last_name)].filter(Boolean).join(' ')
    return {
      name: textOf(name?.formatted_name) ?? parts,
      phones: recordsOf(contact.phones).flatMap(({ phone }) => textOf(phone) ?? []),
      emails: recordsOf(contact.emails).flatMap(({ email }) => textOf(email) ?? []),
      company: textOf(recordOf(contact.org)?.company),
    }
  })
}

const numberOf = (value: unknown): number | undefined => {
  const number = Number(textOf(value))
  return Number.isFinite(number) ? number : undefined
}

/** The items of an order and the total per currency. No totals if a price is missing. */
export function orderOf(value: unknown) {
  const order = recordOf(value)
  const items = recordsOf(order?.product_items).map((item) => ({
    name: textOf(item.product_retailer_id),
    quantity: numberOf(item.quantity) ?? 1,
    price: numberOf(item.item_price),
    currency: textOf(item.currency),
  }))
  const amounts = new Map<string | undefined, number>()
  for (const { quantity, price = Number.NaN, currency } of items) {
    amounts.set(currency, (amounts.get(currency) ?? 0) + quantity * price)
  }
  const totals = [...amounts].map(([currency, amount]) => ({ currency, amount }))
  return { note: textOf(order?.text), items, totals: totals.every(({ amount }) => !Number.isNaN(amount)) ? totals : [] }
}

/** Form answers by question. The provider's form builder names a field `screen_<n>_<name>_<n>`. */
export function answersOf(value: unknown): { question: string; answer: string }[] {
  const form = recordOf(value)
  const response = recordOf(form?.response)
  if (!response) return []
  return Object.entries(response)
    .filter(([name]) => name !== 'flow_token')
    .map(([name, answer]) => ({
      question: sentenceOf(name.replace(/^screen_\d+_/, '').replace(/_\d+$/, '')) || name,
      answer: answerOf(answer),
    }))
}

function answerOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(answerOf).join(', ')
  return textOf(value) ?? (value === null || value === '' ? '' : JSON.stringify(value))
}

const sentenceOf = (name: string): string => {
  const text = name.replaceAll('_', ' ').trim()
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** The ad, post or link a customer came from, in the format of either provider channel. */
export function referralOf(value: unknown) {
  const referral = recordOf(value)
  if (!referral) return undefined
  const { source_type: type, source, headline, body, source_url: url, ref } = referral
  const isAd = type === 'ad' || source === 'ADS'
  return {
    source: isAd ? 'ad' : type === 'post' ? 'post' : 'link',
    title: textOf(headline) ?? textOf(recordOf(referral.ads_context_data)?.ad_title) ?? textOf(body) ?? textOf(ref),
    url: textOf(url),
  } as const
}

/** The content of a sent template or of one of its cards. */
export function templateOf(content: Details | null | undefined) {
  const header = recordOf(content?.header)
  return {
    header: { format: textOf(header?.format)?.toLowerCase(), text: textOf(header?.text), url: textOf(header?.url) },
    body: textOf(content?.body),
    footer: textOf(content?.footer),
    buttons: recordsOf(content?.buttons).flatMap(({ text }) => textOf(text) ?? []),
    cards: recordsOf(content?.cards),
  }
}

/** Buttons, a list or a link that was sent. */
export function choicesOf(content: Details) {
  const { header, body, footer, button, buttons, sections, text, url } = recordOf(content.interactive) ?? {}
  return {
    header: textOf(header),
    body: textOf(body),
    footer: textOf(footer),
    buttons: recordsOf(buttons).flatMap(({ title }) => textOf(title) ?? []),
    listLabel: textOf(button),
    sections: recordsOf(sections).map(({ title, rows }) => ({
      title: textOf(title),
      rows: recordsOf(rows).map((row) => ({ title: textOf(row.title), description: textOf(row.description) })),
    })),
    link: textOf(url) === undefined ? undefined : { text: textOf(text), url: textOf(url) },
  }
}

/** The URL to load media from: our own origin or https. Other URLs are rejected, because the page's policy blocks them. */
export function showableUrl(url: string | null | undefined): string | undefined {
  const parsed = parseUrl(url)
  if (!parsed) return undefined
  if (parsed.origin === window.location.origin || parsed.protocol === 'https:' || parsed.protocol === 'blob:')
    return parsed.href
  // Files of our own media store when the page is open under another host name than PUBLIC_URL.
  return /^\/media\/[0-9A-Za-z]{43}(\/|$)/.test(parsed.pathname) ? parsed.pathname : undefined
}

/** The URL of a link, if it is http or https. */
export function webUrl(url: string | null | undefined): string | undefined {
  const parsed = parseUrl(url)
  return parsed && /^https?:$/.test(parsed.protocol) ? parsed.href : undefined
}

function parseUrl(url: string | null | undefined): URL | undefined {
  return url && URL.canParse(url) ? new URL(url) : undefined
}
