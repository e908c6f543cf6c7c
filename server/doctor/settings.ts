/** The settings: which are set and where, which are wrong, and whether the public URL can work. */
import { isLoopbackHost } from '../../common/address.ts'
import { ok, problem, type Result, skipped, warning } from './check.ts'
import { faultIn, type Installation } from './installation.ts'

/** Providers at which every person can have an account. */
const publicIssuers = new Set(
  `accounts.google.com appleid.apple.com gitlab.com login.live.com login.yahoo.com api.login.yahoo.com www.facebook.com
  www.linkedin.com www.paypal.com access.line.me id.twitch.tv slack.com login.salesforce.com`.split(/\s+/),
)
/** Domains at which every person can have an address. */
const publicDomains = /^(gmail|googlemail|outlook|hotmail|live|yahoo|ymail|icloud|aol|gmx|proton|protonmail|mail)\.\w+$/

export async function checkSettings(installation: Installation): Promise<Result[]> {
  const { faults, settings, envFile } = installation
  const { fromEnvironment, fromFile, unknown } = settings
  const results: Result[] = []
  if (envFile.error) {
    const fix = `Let the user of the service read it: chown and chmod 600 ${envFile.path}.`
    results.push(problem(`.env cannot be read: ${envFile.error}`, fix))
  }
  for (const { setting, rule } of faults) {
    const where = fromFile.includes(setting) ? 'in .env' : 'in the environment or in .env'
    results.push(problem(`${setting}: ${rule}`, `Correct ${setting} ${where}; .env.example describes it.`))
  }
  for (const { name, where } of unknown) {
    const fix = 'Correct the name or remove it; docs/configuration.md lists all names.'
    results.push(warning(`${name} in ${where} is not a setting`, fix))
  }
  results.push(...checkAdmission(installation))
  const sources = [
    fromFile.length > 0 ? `${fromFile.join(', ')} from .env` : '',
    fromEnvironment.length > 0 ? `${fromEnvironment.join(', ')} from the environment` : '',
  ].filter(Boolean)
  const set = sources.join('; ') || 'none is set, so all have their defaults'
  results.push(faults.length > 0 ? skipped(`set: ${set}`) : ok(set))
  return results
}

/** Whom single sign-on gives an account. */
function checkAdmission({ config: { oidc } }: Installation): Result[] {
  const host = URL.parse(oidc?.issuer ?? '')?.hostname ?? ''
  const domains = oidc?.domains ?? []
  const fix = 'Set OIDC_DOMAINS to the e-mail domains of your organization, such as acme.example.'
  const open = domains.filter((domain) => publicDomains.test(domain))
  if (open.length > 0) {
    return [
      warning(`OIDC_DOMAINS has ${open.join(', ')}, where every person can have an address and gets an account`, fix),
    ]
  }
  if (domains.length > 0 || !publicIssuers.has(host)) return []
  return [
    warning(
      `every person can have an account at ${host}, and OIDC_DOMAINS is empty: only invited people and members sign in`,
      fix,
    ),
  ]
}

export async function checkPublicUrl(installation: Installation): Promise<Result[]> {
  const fault = faultIn(installation, 'PUBLIC_URL', 'HOST', 'PORT')
  if (fault) return [skipped(fault)]
  const { publicUrl, isDemoExposed, host } = installation.config
  const url = new URL(publicUrl)
  const results: Result[] = []
  const example = 'Set PUBLIC_URL to the address that browsers and the provider use, such as https://parley.example.'
  if (['0.0.0.0', '[::]'].includes(url.hostname)) {
    results.push(warning(`${publicUrl} is no address that a browser can open`, example))
  } else if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) {
    const fix =
      'Serve https with a proxy or with TLS_CERT_FILE and TLS_KEY_FILE, and set PUBLIC_URL to the https address.'
    results.push(warning(`${publicUrl} is not https: passwords travel unencrypted, and the provider refuses it`, fix))
  }
  if (url.search || url.hash || url.username || url.password) {
    results.push(problem('PUBLIC_URL has a user, a query or a fragment', example))
  }
  if (url.pathname !== '/') {
    results.push(warning(`PUBLIC_URL has the path ${url.pathname}, and the pages use paths from the root`, example))
  }
  if (isDemoExposed) {
    const fix = 'Set DEMO=0, unless other machines are meant to use the demo.'
    results.push(warning(`other machines can reach the demo (HOST=${host}, PUBLIC_URL=${url.origin})`, fix))
  }
  if (results.length > 0) return results
  const isLocal = isLoopbackHost(url.hostname)
  return [ok(isLocal ? `${publicUrl}, for this machine only; a provider cannot reach it` : publicUrl)]
}
