/**
 * The image of `Dockerfile`, built by buildah on a base of Debian packages, and run as a container engine runs it: as process 1, as
 * the user of the image, on a read-only root.
 */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { freePort } from '../../scripts/free-port.ts'
import { resolvePackage } from '../../scripts/packages.ts'
import { createFolder } from '../folder.ts'
import { createBrowser, type Json, type Owner, until } from '../support.ts'

const root = join(import.meta.dirname, '../..')
const buildah = resolvePackage('buildah', ['/usr/bin/buildah'], { install: true })
const debootstrap = resolvePackage('debootstrap', ['/usr/sbin/debootstrap'], { install: true })

function whyNot(): string | false {
  if (process.getuid?.() !== 0) return 'only root can make a base image with debootstrap'
  return buildah && debootstrap ? false : 'buildah and debootstrap are not installed'
}

const run = async (command: string, ...args: string[]): Promise<string> =>
  (await promisify(execFile)(command, args, { cwd: root, timeout: 900_000, maxBuffer: 1 << 26 })).stdout.trim()

/** The root of a Debian system with the Node and npm of this machine, as BUILD_IMAGE and RUNTIME_IMAGE. */
async function createBase(folder: string): Promise<string> {
  const base = join(folder, 'base')
  await run(debootstrap ?? '', '--variant=minbase', 'bookworm', base)
  const npm = dirname(dirname(await run('readlink', '-f', await run('sh', '-c', 'command -v npm'))))
  const programs = join(base, 'usr/local')
  await run('cp', process.execPath, join(programs, 'bin/node'))
  await run('cp', '-r', npm, join(programs, 'lib/npm'))
  await run('ln', '-s', '../lib/npm/bin/npm-cli.js', join(programs, 'bin/npm'))
  return base
}

type Image = { folder: string; config: { User: string; Env: string[]; Cmd: string[]; Healthcheck: { Test: string[] } } }

/** Builds the image, and answers its files and configuration. */
async function build(t: Owner): Promise<Image> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-container-'))
  const storage = ['--storage-driver', 'vfs', '--root', join(folder, 'storage'), '--runroot', join(folder, 'run')]
  const call = (...args: string[]) => run(buildah ?? '', ...storage, ...args)
  t.after(async () => {
    await call('umount', '--all').catch(() => undefined)
    rmSync(folder, { recursive: true, force: true })
  })
  const base = await call('from', 'scratch')
  await call('copy', '--quiet', base, await createBase(folder), '/')
  await call('commit', '--quiet', '--rm', base, 'localhost/base')
  // The npm settings of this machine, with its certificates and its cache.
  const [cache, registry] = [await run('npm', 'config', 'get', 'cache'), await run('npm', 'config', 'get', 'registry')]
  const settings = ['cafile=/certificates/ca-certificates.crt', 'cache=/cache', `registry=${registry}`]
  writeFileSync(join(folder, 'npmrc'), `${[...settings, 'prefer-offline=true'].join('\n')}\n`)
  await call(
    'build',
    ...['--isolation', 'chroot', '--format', 'docker', '--tag', 'localhost/parley'],
    ...['--build-arg', 'BUILD_IMAGE=localhost/base', '--build-arg', 'RUNTIME_IMAGE=localhost/base'],
    ...['--secret', `id=npmrc,src=${join(folder, 'npmrc')}`],
    ...['--volume', '/etc/ssl/certs:/certificates:ro', '--volume', `${cache}:/cache`],
    '.',
  )
  const container = await call('from', 'localhost/parley')
  const { Docker } = JSON.parse(await call('inspect', '--type', 'image', 'localhost/parley'))
  return { folder: await call('mount', container), config: Docker.config }
}

test('the image runs as an ordinary user on a read-only root, is healthy, sends, and stops on SIGTERM', {
  skip: whyNot(),
  timeout: 1_500_000,
}, async (t) => {
  const { folder, config } = await build(t)
  assert.match(config.User, /^[1-9]\d*:[1-9]\d*$/)
  assert.equal(existsSync(join(folder, 'source')), false, 'the image contains the build')
  assert.equal(existsSync(join(folder, 'app/node_modules/vite')), false, 'the image contains development dependencies')
  assert.equal(existsSync(join(folder, 'root/.npmrc')), false, 'the image contains the npm settings of the build')

  const data = createFolder(t)
  const [uid = 0, gid = 0] = config.User.split(':').map(Number)
  chownSync(data, uid, gid)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const env = [...config.Env, `PORT=${port}`, `PUBLIC_URL=${url}`, 'DEMO=1', 'HOST=127.0.0.1']
  const inRoot = (command: string[]) => ['chroot', `--userspec=${config.User}`, folder, 'env', '-i', ...env, ...command]
  // A mount namespace of its own: the read-only root, and the two folders that are writable.
  const mounts = `
    mount --bind "$1" "$1" && mount --bind "$2" "$1/data" && mount -t tmpfs tmpfs "$1/tmp" &&
    mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" && mount -o remount,ro,bind "$1" && shift 2 && exec "$@"`
  const separate = ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-ec', mounts, 'sh', folder, data]
  const child = spawn('unshare', [...separate, ...inRoot(config.Cmd)], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  const gone = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)))
  t.after(() => {
    child.kill('SIGKILL')
    return gone
  })
  const isReady = async () => {
    assert.equal(child.exitCode, null, output)
    return output.includes('Parley is ready')
  }
  await until('the service to be ready', isReady, 180_000)

  const [kind, ...check] = config.Healthcheck.Test
  assert.equal(kind, 'CMD')
  await run(...(inRoot(check) as [string, ...string[]]))
  const demo: Json = JSON.parse(readFileSync(join(data, 'demo.json'), 'utf8'))
  assert.equal((await createBrowser(url, url).signIn(demo.owner)).status, 200)
  const sent = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${demo.api_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ to: '+14155550100', type: 'template', template: { name: 'hello_world' } }),
  })
  assert.equal(sent.status, 201, await sent.text())
  for (const path of ['/', '/docs', '/simulator', '/widget.js'])
    assert.equal((await fetch(url + path)).status, 200, path)

  // The service is process 1 of its namespace: it gets the signal that a container engine sends, and no shell is in between.
  const pid = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim())
  assert.match(readFileSync(`/proc/${pid}/status`, 'utf8'), new RegExp(`^NSpid:\\s${pid}\\s1$`, 'm'))
  assert.match(readFileSync(`/proc/${pid}/cmdline`, 'utf8'), /^node\0\/app\/server\/main\.ts/)
  process.kill(pid, 'SIGTERM')
  assert.equal(await gone, 0, output)
  await assert.rejects(run(...(inRoot(check) as [string, ...string[]])), 'the health check of a stopped service passes')
})
