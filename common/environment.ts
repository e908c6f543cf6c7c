/** The environment variables, shared by the service and the command line. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'

/** The folder of this copy of Parley. */
export const projectFolder = join(import.meta.dirname, '..')

/** How an operator runs a command of this installation. The unit of systemd, `deploy/parley` and the image set it. */
export const parleyCommand = process.env.PARLEY_COMMAND || 'npx parley'

/** Optional. */
const envFile = join(projectFolder, '.env')

type Variables = Record<string, string | undefined>

/** The variables with their source. `error`: why the `.env` file cannot be read. */
export function readEnvironment(): { path: string; file: Variables; own: Variables; error: string | undefined } {
  const own = process.env
  try {
    return { path: envFile, file: parseEnv(readFileSync(envFile, 'utf8')), own, error: undefined }
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    return { path: envFile, file: {}, own, error: code === 'ENOENT' ? undefined : message }
  }
}

/** Returns the environment variables. An `.env` file in the folder adds those that are not set. */
export function environment(folder = projectFolder): Variables {
  try {
    process.loadEnvFile(join(folder, '.env'))
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw error
  }
  return process.env
}
