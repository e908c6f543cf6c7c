/** PostgreSQL on a machine of a test: `database-server.ts FOLDER SETTINGS`. Ends with its parent. */
import { startEmbeddedPostgres } from '../server/lib/embedded/postgres.ts'

const [dataDir = '', settings = '{}'] = process.argv.slice(2)
const server = await startEmbeddedPostgres({ dataDir, settings: JSON.parse(settings) })
process.on('disconnect', async () => {
  await server.stop()
  process.exit()
})
process.send?.('ready')
