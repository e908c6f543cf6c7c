/** Where a real browser is, for the tests that need one. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const places = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

export const chromiumFlags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Find Chromium; with `install`, have the system's package manager bring it where that is possible. */
export function resolveChromium({ install = false } = {}): string | undefined {
  const found = places.find((place) => existsSync(place))
  if (found || !install) return found
  if (process.getuid?.() === 0 && spawnSync('apt-get', ['--version']).status === 0) {
    console.error('Installing Chromium for the browser tests…')
    const apt = (...args: string[]) =>
      spawnSync('apt-get', args, { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
        .status === 0
    if (apt('update') && apt('install', '-y', '--no-install-recommends', 'chromium')) return resolveChromium()
  }
  console.error(
    'No Chromium here and none could be installed: the browser tests (dashboard, reference, phone) are left out.',
  )
  return undefined
}
