/**
 * `npm run setup`: prepares an installation whose files belong to another user than the one who runs it. Run it as the owner of
 * the files, after unpacking a release. The launcher installs the packages; this links the libraries of the embedded PostgreSQL.
 */
import { requireBinaries, requireBinariesVersion } from '../server/lib/embedded/binaries.ts'
import { StartError } from '../server/lib/process/start-error.ts'

try {
  await requireBinaries()
  console.log(`Installed, with PostgreSQL ${await requireBinariesVersion()}.`)
} catch (error) {
  if (!(error instanceof StartError)) throw error
  console.log(`Installed, without PostgreSQL: ${error.message}`)
}
