/** Phone numbers: parsed from any common spelling, stored and shown in E.164. */
import {
  type CountryCode,
  getCountries,
  getCountryCallingCode,
  isSupportedCountry,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/min'
import { badRequest } from '../lib/errors.ts'

/** A possible number (length, country code) in E.164. Throws 400 for `field`. The default country applies without a `+`. */
export function requirePhone(text: string, defaultCountry: string, field: string): string {
  const phone = parsePhone(text, defaultCountry)
  if (!phone) throw badRequest(`${field}: not a phone number`)
  return phone
}

export function parsePhone(text: string, defaultCountry: string): string | undefined {
  if (text.length > 40 || text.includes(';')) return undefined
  const american = readAmerican(text, defaultCountry)
  if (american !== undefined) return american
  const country: { defaultCountry?: CountryCode } = isSupportedCountry(defaultCountry) ? { defaultCountry } : {}
  const number = parsePhoneNumberFromString(withoutOldPrefix(text.trim()), { ...country, extract: false })
  return number?.isPossible() && !number.ext ? number.number : undefined
}

const americanPattern = /^(\+1[ .-]?)?\(?([2-9]\d\d)\)?[ .-]?(\d{3})[ .-]?(\d{4})$/

/**
 * A number of the 25 countries with the code 1, in a common spelling. The library tries the patterns of all of them to find the
 * country, which we do not need: that took 70 % of the time of reading a file.
 */
function readAmerican(text: string, defaultCountry: string): string | undefined {
  const [, code, area, ...rest] = americanPattern.exec(text) ?? []
  if (area === undefined || (code === undefined && !americanCountries.has(defaultCountry))) return undefined
  return `+1${area}${rest.join('')}`
}

const americanCountries = new Set<string>(getCountries().filter((country) => getCountryCallingCode(country) === '1'))

/**
 * Mexican mobile numbers had a 1 after the country code until 2019. Channels and address books still write it, but it is no
 * longer part of the number.
 */
export function withoutOldPrefix(text: string): string {
  const digits = text.replace(/[\s().-]/g, '')
  return /^\+521\d{10}$/.test(digits) ? `+52${digits.slice(4)}` : text
}

/**
 * The canonical spelling of a number, for identities. Brazilian mobile numbers are written with or without a 9 after the area
 * code, and channels convert one to the other.
 */
export function identityOfPhone(phone: string): string {
  const brazilian = /^\+55(\d\d)([6-9]\d{7})$/.exec(phone)
  return brazilian ? `+55${brazilian[1]}9${brazilian[2]}` : withoutOldPrefix(phone)
}
