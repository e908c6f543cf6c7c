import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeOpening, describeQueue, describeReplyTime } from './chat-hint.ts'

const now = Date.parse('2026-11-19T20:00:00Z')
const opening = (time: string, language: string, locale: string, timeZone = 'UTC') =>
  describeOpening(Date.parse(time), now, { language, locale, timeZone }).replaceAll(/\s/g, ' ')

test('the opening is written in the language of the widget, in the time and the habits of the visitor', () => {
  assert.equal(opening('2026-11-19T22:30:00Z', 'en', 'en-GB'), 'We answer from 22:30')
  assert.equal(opening('2026-11-19T22:30:00Z', 'en', 'en-US'), 'We answer from 10:30 PM')
  assert.equal(opening('2026-11-19T22:30:00Z', 'de', 'en-US', 'Europe/Berlin'), 'Wir antworten ab 23:30')
  assert.equal(opening('2026-11-20T08:00:00Z', 'de', 'de-AT', 'Europe/Berlin'), 'Wir antworten ab Freitag, 09:00')
  assert.equal(opening('2026-11-20T08:00:00Z', 'en', 'en-GB', 'Asia/Kolkata'), 'We answer from 13:30', 'today there')
  assert.equal(opening('2026-12-28T09:00:00Z', 'en', 'en-GB'), 'We answer from 28 December at 09:00')
  assert.equal(opening('2026-11-20T08:00:00Z', 'xx', 'xx'), 'We answer from Friday 08:00 AM')
})

test('the usual time of a reply is written in the language of the widget', () => {
  assert.equal(describeReplyTime('minutes', 'en'), 'We usually reply within 5 minutes')
  assert.equal(describeReplyTime('hour', 'de'), 'Wir antworten meist innerhalb von 1 Stunde')
  assert.equal(describeReplyTime('day', '??'), 'We usually reply within 1 day')
})

test('the position in the queue is a sentence, with the expected time rounded up, unless it is unknown or very long', () => {
  assert.equal(describeQueue(3, undefined, 'en'), 'You are third in the queue.')
  assert.equal(describeQueue(11, 20, 'en'), 'You are number 11 in the queue. Expected wait: about 1 minute.')
  assert.equal(describeQueue(1, 541, 'en'), 'You are first in the queue. Expected wait: about 10 minutes.')
  assert.equal(describeQueue(1, 601, 'en'), 'You are first in the queue. Expected wait: about 15 minutes.')
  assert.equal(describeQueue(1, 3_301, 'en'), 'You are first in the queue. Expected wait: about 1 hour.')
  assert.equal(describeQueue(1, 3_601, 'en'), 'You are first in the queue. Expected wait: about 2 hours.')
  assert.equal(describeQueue(1, 12 * 3_600 + 1, 'en'), 'You are first in the queue.')
  assert.equal(
    describeQueue(2, 120, 'de'),
    'Sie sind an 2. Stelle der Warteschlange. Voraussichtliche Wartezeit: etwa 2 Minuten.',
  )
  assert.equal(describeQueue(1, undefined, 'constructor'), 'You are first in the queue.')
  for (const language of ['es', 'fr', 'pt', 'ar']) assert.match(describeQueue(4, 300, language), /4.*5|٤.*٥/u)
})
