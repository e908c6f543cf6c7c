/** What `npx parley doctor` examines: the settings, also if they are wrong, and where they come from. */
import { readEnvironment } from '../../common/environment.ts'
import { examineSettings, listDataFolders, localOrigin, settings } from '../config/config.ts'
import { isSameKey, readEncryptionKey } from '../config/encryption-key.ts'
import { countConnections } from '../config/pools.ts'
import type { Installation } from './installation.ts'

export function readInstallation(): Installation {
  const { path, file, own, error } = readEnvironment()
  const env = { ...file, ...own }
  const examined = examineSettings(env)
  const { faults } = examined
  const hasFaultyBucket = faults.some(({ setting }) => setting.startsWith('MEDIA_S3'))
  const config = { ...examined.config, ...(hasFaultyBucket ? { mediaS3: undefined } : {}) }
  const isSet = (values: Record<string, string | undefined>) => (name: string) => Boolean(values[name]?.trim())
  const names = Object.keys(settings)
  const fromEnvironment = names.filter(isSet(own))
  return {
    config,
    faults,
    settings: {
      fromEnvironment,
      fromFile: names.filter(isSet(file)).filter((name) => !fromEnvironment.includes(name)),
      unknown: [...Object.keys(file).map((name) => ({ name, where: '.env' })), ...readUnitNames(own)].filter(
        ({ name }) => !names.includes(name) && !otherPrograms.test(name),
      ),
    },
    envFile: { path, error },
    tlsKeyFile: env.TLS_KEY_FILE?.trim() || undefined,
    origin: localOrigin(config),
    folders: listDataFolders(config),
    neededConnections: countConnections(config),
    readKey: () => readEncryptionKey(config),
    isSameKey,
  }
}

/** Variables that Node and the commands for integrators read. */
const otherPrograms = /^(PARLEY|NODE|NPM|npm|LC|UV)_|^(TZ|PATH|HOME|LANG)$/

/** The names in the unit of systemd and its files. `deploy/parley` lists them: in the environment they are among those of the system. */
function readUnitNames({ PARLEY_SETTING_NAMES: list = '' }: Record<string, string | undefined>) {
  return list.split(',').flatMap((entry) => {
    const [, name, where] = /^(\w+):(.+)$/.exec(entry) ?? []
    return name && where ? [{ name, where }] : []
  })
}
