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
  const number = parsePhoneNumberFromString(text.trim(), { ...country, extract: false })
  return number?.isPossible() && !number.ext ? number.number : undefined
}
