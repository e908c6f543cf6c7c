/** Domains of e-mail addresses, in the form in which they are compared. */
import { domainToASCII } from 'node:url'

/** In lower case and Punycode. Undefined if the text is no domain with at least two parts. */
export function toDomain(text: string): string | undefined {
  // `domainToASCII` drops what follows a slash.
  const domain = /^[\p{L}\p{M}\p{N}.-]+$/u.test(text) ? domainToASCII(text) : ''
  return /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(domain) ? domain : undefined
}

export const domainOfEmail = (email: string): string | undefined => toDomain(email.slice(email.lastIndexOf('@') + 1))
