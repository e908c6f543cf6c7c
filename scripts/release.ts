/**
 * `npm run release [-- --to FOLDER]`: makes the files of a release, by default in `release`.
 *
 *   parley-X.tar.gz     the service for all platforms: code, built pages, lock file; npm installs its runtime dependencies
 *   parley-sdk-X.tgz    the SDK, as npm publishes it
 *   parley_sdk-X.tar.gz the Python SDK, as pip installs it; X in the spelling of Python
 *   parley-X.cdx.json   CycloneDX software bill of materials: runtime dependencies, and the packages in the built pages
 *   SHA256SUMS          checksums of these files
 *
 * `--unpacked FOLDER` only writes the content of the first file into this folder, for an image.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { builtDir } from '../common/pages.ts'
import { buildPages, listBundled } from './build.ts'
import { javaScriptPackage, pythonPackage, pythonVersion } from './sdk.ts'
import { packFolder } from './tar.ts'

type Packages = Record<string, { version?: string; dev?: boolean }>
type Lock = { packages: Packages }
type Sbom = {
  components: { 'bom-ref': string; properties: { name: string }[] }[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

const root = join(import.meta.dirname, '..')

/** Files and folders of the repository that run or describe the service. */
const content = [
  '.env.example',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'LICENSE',
  'README.md',
  'SECURITY.md',
  'bench/RESULTS.md',
  'bin',
  'cli',
  'common',
  'deploy',
  'dist',
  'docs',
  'examples',
  'migrations',
  'monitoring',
  'receivers',
  'scripts/health.js',
  'scripts/install.js',
  'scripts/launch.sh',
  'schema.sql',
  'sdk/README.md',
  'scripts/setup.ts',
  'sdk/src',
  'sdk-python/README.md',
  'server',
  'simulator',
  'widget/demo',
]
const isDevelopment = (path: string): boolean =>
  /\.test\.ts$|\/fixtures(\/|$)|\/test-[\w-]+\.ts$|^simulator\/phone(\/|$)|^dist\/.*-\d+(\/|$)/.test(path)

/** Whether a release has this file of the repository. */
export const isReleased = (path: string): boolean =>
  content.some((part) => path === part || path.startsWith(`${part}/`)) && !isDevelopment(path)

/** Runs no scripts of packages: the service needs none of them. */
const npmSettings = 'ignore-scripts=true\naudit=false\nfund=false\n'
const commands = ['start', 'setup', 'parley', 'simulator']

const readJson = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8'))

/** Writes the service as it is released. */
function writeService(folder: string): Lock {
  for (const path of content) {
    const filter = (source: string) => !isDevelopment(relative(root, source))
    cpSync(join(root, path), join(folder, path), { recursive: true, filter })
  }
  writeFileSync(join(folder, '.npmrc'), npmSettings)
  const { scripts, devDependencies: _, overrides: __, ...manifest } = readJson('package.json')
  manifest.scripts = Object.fromEntries(commands.map((name) => [name, scripts[name]]))
  writeJson(join(folder, 'package.json'), manifest)
  const { packages, ...lock } = readJson('package-lock.json')
  const { '': top, ...others } = packages
  delete top.devDependencies
  const runtime = { ...lock, packages: { '': top, ...omitDevelopment(others) } }
  writeJson(join(folder, 'package-lock.json'), runtime)
  return runtime
}

const omitDevelopment = (packages: Packages): Packages =>
  Object.fromEntries(Object.entries(packages).filter(([, { dev }]) => !dev))

const writeJson = (file: string, value: object) => writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`)

/** The bill of all dependencies, reduced to those in the lock file of the release and those in the built pages. */
function describeMaterials(lock: Lock): Sbom {
  // A build of pages in this process sets NODE_ENV, and npm would then omit development dependencies.
  const options = ['--package-lock-only', '--include=dev', '--sbom-format=cyclonedx', '--sbom-type=application']
  const sbom: Sbom = JSON.parse(
    execFileSync('npm', ['sbom', ...options], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 }),
  )
  const all: Lock = readJson('package-lock.json')
  const bundled = listBundled().map((name) => `node_modules/${name}`)
  const refs = [...Object.keys(lock.packages), ...bundled].map(
    (path) => `${path.replace(/.*node_modules\//, '')}@${all.packages[path]?.version}`,
  )
  const { name, version } = readJson('package.json')
  const isKept = (ref: string) => refs.includes(ref) || ref === `${name}@${version}`
  return {
    ...sbom,
    components: sbom.components
      .filter((component) => isKept(component['bom-ref']))
      .map(({ properties, ...component }) => ({
        ...component,
        properties: properties.filter((property) => property.name !== 'cdx:npm:package:development'),
      })),
    dependencies: sbom.dependencies
      .filter(({ ref }) => isKept(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(isKept) })),
  }
}

function writeRelease(folder: string): void {
  const { name, version } = readJson('package.json')
  const title = `${name}-${version}`
  const [service, materials] = [`${title}.tar.gz`, `${title}.cdx.json`]
  mkdirSync(folder, { recursive: true })
  const staging = mkdtempSync(join(tmpdir(), 'parley-release-'))
  try {
    const lock = writeService(join(staging, title))
    packFolder(join(staging, title), join(folder, service))
    writeJson(join(folder, materials), describeMaterials(lock))
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
  // The service serves the same packages.
  const sdks = {
    [javaScriptPackage]: `parley-sdk-${version}.tgz`,
    [pythonPackage]: `parley_sdk-${pythonVersion()}.tar.gz`,
  }
  for (const [built, released] of Object.entries(sdks)) cpSync(join(builtDir('sdk'), built), join(folder, released))
  const sums = [service, materials, ...Object.values(sdks)].map((file) => `${sha256(join(folder, file))}  ${file}\n`)
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
}

const sha256 = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')

if (import.meta.main) {
  const { values } = parseArgs({ options: { to: { type: 'string' }, unpacked: { type: 'string' } } })
  await buildPages()
  if (values.unpacked) writeService(resolve(values.unpacked))
  else {
    const folder = resolve(values.to ?? join(root, 'release'))
    writeRelease(folder)
    console.log(readFileSync(join(folder, 'SHA256SUMS'), 'utf8').trim())
  }
}
