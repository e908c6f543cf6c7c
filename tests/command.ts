/** Runs `parley` as a process, and speaks with it as an assistant does. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import type { TestContext } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { startMs } from './program.ts'
import { type Json, until } from './support.ts'

type Running = {
  child: ChildProcess
  lines(): Json[]
  stdout(): string
  stderr(): string
  exit: Promise<number | null>
}

/** Runs `parley` without a demo. Key and URL come from `env`. */
export function parley(t: TestContext, env: Record<string, string>, ...args: string[]): Running {
  const child = spawn(process.execPath, ['bin/parley.ts', ...args], {
    env: { ...process.env, DATA_DIR: '/nowhere', PARLEY_API_KEY: '', PARLEY_URL: '', ...env },
  })
  t.after(() => child.kill('SIGKILL'))
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text))
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    lines: () =>
      stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    exit: new Promise((resolve) => child.on('close', resolve)),
  }
}

/** An MCP client. */
export const assist = (t: TestContext, env: Record<string, string>, ...args: string[]) =>
  converse(parley(t, env, 'mcp', ...args))

export async function converse(running: Running) {
  let number = 0
  const ask = async (method: string, params: Json = {}): Promise<Json> => {
    const id = ++number
    running.child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    const find = async () => running.lines().find((line) => line.id === id)
    return (await until(`a response to ${method}: ${running.stderr()}`, find, startMs)).result
  }
  const clientInfo = { name: 'test', version: '1' }
  const hello = await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
  running.child.stdin?.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
  const call = async (name: string, input: Json = {}): Promise<Json> => {
    const { isError = false, content, structuredContent } = await ask('tools/call', { name, arguments: input })
    const [{ text }] = content
    if (isError) return { error: text }
    assert.deepEqual(structuredContent, JSON.parse(text))
    const validate = schemas.get(name)
    assert.ok(validate?.(structuredContent), `${name}: ${JSON.stringify(validate?.errors)}`)
    return structuredContent
  }
  const listed: Json[] = (await ask('tools/list')).tools
  const ajv = new Ajv2020({ strict: false })
  // The package's types describe a default export that the module does not have.
  ;(addFormats as unknown as (ajv: Ajv2020) => void)(ajv)
  const schemas = new Map(listed.map(({ name, outputSchema }) => [name as string, ajv.compile(outputSchema)]))
  const tools = async () => listed.map(({ name }) => name).sort()
  return { ...running, hello, call, tools, listed }
}
