/** Phone numbers: read as people write them, kept and shown in E.164. */
import { type CountryCode, isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/min'
import { badRequest } from '../lib/errors.ts'

/** A possible number (length, country code) in E.164, or 400 naming `field`. Without `+` it is read with the default country. */
export function requirePhone(text: string, defaultCountry: string, field: string): string {
  const phone = parsePhone(text, defaultCountry)
  if (!phone) throw badRequest(`${field}: not a phone number`)
  return phone
}

export function parsePhone(text: string, defaultCountry: string): string | undefined {
  if (text.length > 40 || text.includes(';')) return undefined
  const country: { defaultCountry?: CountryCode } = isSupportedCountry(defaultCountry) ? { defaultCountry } : {}
  const number = parsePhoneNumberFromString(withoutOldPrefix(text.trim()), { ...country, extract: false })
  return number?.isPossible() && !number.ext ? number.number : undefined
}

/**
 * Mexico's mobile numbers had a 1 behind the country code until 2019. Channels still write it, and so do address books,
 * but it is no part of the number any more.
 */
export function withoutOldPrefix(text: string): string {
  const digits = text.replace(/[\s().-]/g, '')
  return /^\+521\d{10}$/.test(digits) ? `+52${digits.slice(4)}` : text
}

/**
 * The one spelling by which a number's owner is known. Brazil's mobile numbers are written with or without a 9 behind the
 * area code, and channels rewrite one into the other.
 */
export function identityOfPhone(phone: string): string {
  const brazilian = /^\+55(\d\d)([6-9]\d{7})$/.exec(phone)
  return brazilian ? `+55${brazilian[1]}9${brazilian[2]}` : withoutOldPrefix(phone)
}
