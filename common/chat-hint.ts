/**
 * What the web chat says about replies, in the languages of the widget: how soon members usually reply, or when they answer again,
 * and the position in the queue.
 *
 * The service sends the finished text, because the script of the widget must stay small.
 */

/** The span in which members usually reply: five minutes, an hour or a day. */
export type ReplyTime = 'minutes' | 'hour' | 'day'

type Texts = {
  replies: (span: string) => string
  answers: (time: string) => string
  queued: (position: number) => string
  expected: (span: string) => string
}

const ordinals = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth']

const en: Texts = {
  replies: (span) => `We usually reply within ${span}`,
  answers: (time) => `We answer from ${time}`,
  queued: (position) => `You are ${ordinals[position - 1] ?? `number ${position}`} in the queue.`,
  expected: (span) => `Expected wait: about ${span}.`,
}

const texts: Record<string, Texts> = {
  en,
  de: {
    replies: (span) => `Wir antworten meist innerhalb von ${span}`,
    answers: (time) => `Wir antworten ab ${time}`,
    queued: (position) => `Sie sind an ${position}. Stelle der Warteschlange.`,
    expected: (span) => `Voraussichtliche Wartezeit: etwa ${span}.`,
  },
  es: {
    replies: (span) => `Solemos responder en ${span}`,
    answers: (time) => `Volvemos a responder: ${time}`,
    queued: (position) => `Estás en el puesto ${position} de la cola.`,
    expected: (span) => `Espera prevista: alrededor de ${span}.`,
  },
  fr: {
    replies: (span) => `Nous répondons souvent en ${span}`,
    answers: (time) => `Nous répondons à partir de : ${time}`,
    queued: (position) => `Votre place dans la file d’attente : ${position}.`,
    expected: (span) => `Attente estimée : environ ${span}.`,
  },
  pt: {
    replies: (span) => `Costumamos responder em ${span}`,
    answers: (time) => `Respondemos a partir de: ${time}`,
    queued: (position) => `Está na posição ${position} da fila.`,
    expected: (span) => `Espera prevista: cerca de ${span}.`,
  },
  ar: {
    replies: (span) => `نرد عادة خلال ${span}`,
    answers: (time) => `نعود للرد: ${time}`,
    queued: (position) => `ترتيبك في قائمة الانتظار: ${position}.`,
    expected: (span) => `وقت الانتظار المتوقع: حوالي ${span}.`,
  },
}

/** `language`: of the widget's texts. A language without texts is English. */
export function describeReplyTime(replyTime: ReplyTime, language: string): string {
  const [count, unit] = replyTime === 'minutes' ? [5, 'minute'] : [1, replyTime]
  const { lang, replies } = textsFor(language)
  return replies(spanOf(count, unit, lang))
}

/** A longer wait is no help. */
const maxExpectedMinutes = 12 * 60

/** `expectedSeconds`: undefined is unknown. It is rounded up, the coarser the longer it is. */
export function describeQueue(position: number, expectedSeconds: number | undefined, language: string): string {
  const { lang, queued, expected } = textsFor(language)
  const minutes = Math.max(1, Math.ceil((expectedSeconds ?? Number.POSITIVE_INFINITY) / 60))
  if (minutes > maxExpectedMinutes) return queued(position)
  const span =
    minutes <= 10
      ? spanOf(minutes, 'minute', lang)
      : minutes <= 55
        ? spanOf(Math.ceil(minutes / 5) * 5, 'minute', lang)
        : spanOf(Math.ceil(minutes / 60), 'hour', lang)
  return `${queued(position)} ${expected(span)}`
}

/** A visitor: the language of the texts, how the visitor's region writes times, and where the visitor is. */
export type Visiting = { language: string; locale: string; timeZone: string }

/** Only the time if it is today where the visitor is, else with the weekday, from a week on with the date. */
export function describeOpening(opensMs: number, nowMs: number, { language, locale, timeZone }: Visiting): string {
  const { lang, answers } = textsFor(language)
  const dayOf = (ms: number) => new Intl.DateTimeFormat('en', { timeZone, dateStyle: 'short' }).format(ms)
  const day =
    dayOf(opensMs) === dayOf(nowMs)
      ? {}
      : opensMs - nowMs < 6 * 86_400_000
        ? ({ weekday: 'long' } as const)
        : ({ month: 'long', day: 'numeric' } as const)
  const isOfLanguage = locale.toLowerCase().startsWith(lang)
  const format = new Intl.DateTimeFormat(isOfLanguage ? locale : lang, {
    ...{ timeZone, ...day, hour: '2-digit', minute: '2-digit' },
  })
  return answers(format.format(opensMs))
}

/** By language and unit: creating one takes 100 microseconds, and a change of a queue makes a line for each visitor in it. */
const spanFormats = new Map<string, Intl.NumberFormat>()

function spanOf(count: number, unit: string, lang: string): string {
  const key = `${lang} ${unit}`
  const format = spanFormats.get(key) ?? new Intl.NumberFormat(lang, { style: 'unit', unit, unitDisplay: 'long' })
  spanFormats.set(key, format)
  return format.format(count)
}

function textsFor(language: string): Texts & { lang: string } {
  // A visitor chooses the text: `constructor` is no language.
  const found = Object.hasOwn(texts, language) ? texts[language] : undefined
  return found ? { lang: language, ...found } : { lang: 'en', ...en }
}
