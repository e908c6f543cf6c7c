/** The environment variables, shared by the service and the command line. */
import { join } from 'node:path'

/** Returns the environment variables. An `.env` file in the project folder adds those that are not set. */
export function environment(): Record<string, string | undefined> {
  try {
    process.loadEnvFile(join(import.meta.dirname, '..', '.env'))
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw error
  }
  return process.env
}
