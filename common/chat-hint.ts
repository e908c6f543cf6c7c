/**
 * What the web chat says about replies, in the languages of the widget: how soon members usually reply, or when they answer again.
 *
 * The service sends the finished text, because the script of the widget must stay small.
 */

/** The span in which members usually reply: five minutes, an hour or a day. */
export type ReplyTime = 'minutes' | 'hour' | 'day'

type Texts = { replies: (span: string) => string; answers: (time: string) => string }

const en: Texts = {
  replies: (span) => `We usually reply within ${span}`,
  answers: (time) => `We answer from ${time}`,
}

const texts: Record<string, Texts> = {
  en,
  de: { replies: (span) => `Wir antworten meist innerhalb von ${span}`, answers: (time) => `Wir antworten ab ${time}` },
  es: { replies: (span) => `Solemos responder en ${span}`, answers: (time) => `Volvemos a responder: ${time}` },
  fr: {
    replies: (span) => `Nous répondons souvent en ${span}`,
    answers: (time) => `Nous répondons à partir de : ${time}`,
  },
  pt: { replies: (span) => `Costumamos responder em ${span}`, answers: (time) => `Respondemos a partir de: ${time}` },
  ar: { replies: (span) => `نرد عادة خلال ${span}`, answers: (time) => `نعود للرد: ${time}` },
}

/** `language`: of the widget's texts. A language without texts is English. */
export function describeReplyTime(replyTime: ReplyTime, language: string): string {
  const [count, unit] = replyTime === 'minutes' ? [5, 'minute'] : [1, replyTime]
  const { lang, replies } = textsFor(language)
  return replies(new Intl.NumberFormat(lang, { style: 'unit', unit, unitDisplay: 'long' }).format(count))
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

function textsFor(language: string): Texts & { lang: string } {
  const found = texts[language]
  return found ? { lang: language, ...found } : { lang: 'en', ...en }
}
