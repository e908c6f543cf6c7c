/** Programs that tests need and that the system's package manager can install. */
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'

/** Finds a program at one of `paths`. With `install`, installs `name` with apt-get first if that is possible, without starting its services. */
export function resolvePackage(name: string, paths: readonly string[], { install = false } = {}): string | undefined {
  const found = paths.find((path) => existsSync(path))
  if (found || !install) return found
  if (process.getuid?.() === 0 && spawnSync('apt-get', ['--version']).status === 0) {
    console.error(`Installing ${name} for the tests…`)
    const apt = (...args: string[]) =>
      spawnSync('apt-get', args, { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
        .status === 0
    const aptInstall = () => apt('update') && apt('install', '-y', '--no-install-recommends', name)
    if (withoutServices(aptInstall)) return resolvePackage(name, paths)
  }
  return undefined
}

/** The program that Debian's packages ask before they start a service after their installation. */
const policy = '/usr/sbin/policy-rc.d'

function withoutServices<Value>(install: () => Value): Value {
  if (existsSync(policy)) return install()
  writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    return install()
  } finally {
    rmSync(policy)
  }
}
