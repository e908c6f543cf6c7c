/** One Chromium for all test files of a run. Each file connects to it and has its own windows. */
import { chromium } from 'playwright-core'
import { chromiumFlags, resolveChromium } from '../scripts/chromium.ts'

/** Starts Chromium. Files find it by its endpoint in `PARLEY_TEST_BROWSER`. Without a Chromium on this machine there is none. */
export async function startChromium(): Promise<{ endpoint: string; stop(): Promise<void> } | undefined> {
  const executablePath = resolveChromium()
  if (!executablePath) return undefined
  const server = await chromium.launchServer({ executablePath, args: chromiumFlags, host: '127.0.0.1' })
  return { endpoint: server.wsEndpoint(), stop: () => server.close() }
}
