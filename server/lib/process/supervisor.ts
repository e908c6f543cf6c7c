/**
 * Runs child processes that work as one service: the parent's side (`peers.ts` is the child's).
 *
 * Children are workers of `node:cluster`, so that those that listen on the same port can share it.
 *
 * A child is `loading` its code, `starting`, `ready`, or `waiting` to be restarted. A child that ends is restarted after a delay that
 * doubles from 0.2 to 30 s while it keeps ending within a minute. The first start is different: the first child that fails ends it.
 *
 * Children write their log to a pipe each. The parent writes whole lines to its own output: lines of several processes on one
 * pipe would mix, because only writes up to 4 KB are atomic.
 */
import cluster, { type Worker } from 'node:cluster'
import type { Logger } from 'pino'
import type { Times } from '../../../common/times.ts'
import type { Answer, ChildMessage, ChildStatus, ParentMessage } from './peers.ts'
import { StartError } from './start-error.ts'

export type Supervisor = {
  /** Creates a process that loads its code and waits for its input. */
  create(name: string): void
  /** Starts a created process once, and resolves with the value that it reports. The process is not restarted. */
  run<Value>(name: string, input: unknown): Promise<Value>
  /** Starts created processes, resolves when all are ready, and restarts those that end. */
  start(names: readonly string[], input: (name: string, restarts: number) => unknown): Promise<void>
  /** Stops all processes and waits for their end. */
  stop(reason: string): Promise<void>
}

type SupervisorOptions = {
  /** The program of the children. Its only argument is the name of the child. */
  program: string
  env: Record<string, string>
  /** The arguments of Node for a child, besides those of this process. */
  nodeArgs?: (name: string) => readonly string[]
  log: Logger
  /** Takes whole lines of the children's output. */
  write: (lines: string) => void
  times: Times['supervisor']
}

type Child = {
  name: string
  worker: Worker
  state: 'loading' | 'starting' | 'ready' | 'waiting'
  /** Undefined until the child may start. */
  input: (() => unknown) | undefined
  isOnce: boolean
  wasReady: boolean
  changedAt: number
  restarts: number
  failures: number
  first: PromiseWithResolvers<unknown>
  closed: Promise<void>
  timer?: NodeJS.Timeout
}

type Question = { left: Set<Child>; answers: Answer[]; settle: () => void }

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { program, env, nodeArgs = () => [], log, write, times } = options
  const children = new Map<string, Child>()
  const questions = new Map<number, Question>()
  let lastId = 0
  let isStopping = false

  function spawn(name: string): Pick<Child, 'worker' | 'closed' | 'state' | 'changedAt'> {
    cluster.setupPrimary({
      exec: program,
      args: [name],
      execArgv: [...process.execArgv, ...nodeArgs(name)],
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      serialization: 'advanced',
    })
    const worker = cluster.fork(env)
    relayLines(worker, write)
    worker.on('message', (message: ChildMessage) => receive(name, worker, message))
    // Sending to a child that has just ended.
    worker.on('error', () => {})
    worker.process.once('exit', (code, signal) => onEnd(name, worker, signal ?? `exit code ${code}`))
    const closed = new Promise<void>((resolve) => worker.process.once('close', () => resolve()))
    return { worker, closed, state: 'loading', changedAt: performance.now() }
  }

  function receive(name: string, worker: Worker, message: ChildMessage): void {
    const child = children.get(name)
    if (child?.worker !== worker) return
    if (message.type === 'loaded') {
      child.state = 'starting'
      sendInput(child)
    } else if (message.type === 'ready') {
      if (child.wasReady) log.info({ process: name }, 'the process is ready again')
      Object.assign(child, { state: 'ready', wasReady: true, changedAt: performance.now() })
      child.first.resolve(message.value)
      if (child.isOnce) send(child, { type: 'stop', reason: 'done' })
    } else if (message.type === 'failed') {
      child.first.reject(new StartError(message.text))
      if (child.wasReady) log.error({ process: name, reason: message.text }, 'the process could not start')
    } else if (message.type === 'ask') ask(child, message)
    else if (message.type === 'answer') settleAnswer(message.id, child, message.value)
  }

  function sendInput(child: Child): void {
    if (child.state === 'starting' && child.input) send(child, { type: 'start', input: child.input() })
  }

  function onEnd(name: string, worker: Worker, how: string): void {
    const child = children.get(name)
    if (child?.worker !== worker) return
    for (const id of questions.keys()) settleAnswer(id, child, undefined)
    child.first.reject(new StartError(`the process ${name} ended while it started (${how})`))
    if (child.isOnce) children.delete(name)
    if (isStopping || child.isOnce || !child.wasReady) return
    const isStable = child.state === 'ready' && performance.now() - child.changedAt >= times.stableMs
    child.failures = isStable ? 0 : child.failures
    const delayMs = Math.min(times.maxDelayMs, times.firstDelayMs * 2 ** child.failures++)
    log.error({ process: name, how, restart_in_ms: delayMs }, 'a process ended; it is restarted')
    if (child.state === 'ready') child.changedAt = performance.now()
    child.state = 'waiting'
    child.restarts++
    child.timer = setTimeout(() => {
      // The time of the failure stays: the child is down since then.
      const { changedAt } = child
      Object.assign(child, spawn(name), { changedAt })
    }, delayMs)
  }

  function ask(asker: Child, { id, question, data }: Extract<ChildMessage, { type: 'ask' }>): void {
    const others = permanent().filter((child) => child !== asker && child.state === 'ready')
    const questionId = ++lastId
    const settle = () => {
      clearTimeout(timer)
      const { answers, left } = current
      questions.delete(questionId)
      const silent = [...left].map(({ name }) => ({ process: name, value: undefined }))
      send(asker, { type: 'answers', id, answers: [...answers, ...silent], statuses: statuses() })
    }
    const timer = setTimeout(settle, times.answerMs)
    const current: Question = { left: new Set(others), answers: [], settle }
    questions.set(questionId, current)
    for (const child of others) send(child, { type: 'question', id: questionId, question, data })
    if (others.length === 0) settle()
  }

  function settleAnswer(id: number, child: Child, value: unknown): void {
    const question = questions.get(id)
    if (!question?.left.delete(child)) return
    question.answers.push({ process: child.name, value })
    if (question.left.size === 0) question.settle()
  }

  const permanent = () => [...children.values()].filter(({ isOnce }) => !isOnce)

  const statuses = (): ChildStatus[] =>
    permanent().map(({ name, state, wasReady, changedAt, restarts }) => {
      const isReady = state === 'ready'
      return { process: name, isReady, wasReady, downMs: isReady ? 0 : performance.now() - changedAt, restarts }
    })

  function begin(name: string, input: () => unknown, isOnce: boolean): Promise<unknown> {
    const child = children.get(name)
    if (!child) throw new Error(`the process ${name} was not created`)
    Object.assign(child, { input, isOnce })
    sendInput(child)
    return child.first.promise
  }

  return {
    create(name) {
      const first = Promise.withResolvers<unknown>()
      // Handled by `begin`. Until then a failure has no listener.
      first.promise.catch(() => {})
      const started = { input: undefined, isOnce: false, wasReady: false, restarts: 0, failures: 0, first }
      children.set(name, { name, ...started, ...spawn(name) })
    },
    run: (name, input) => begin(name, () => input, true) as Promise<never>,
    async start(names, input) {
      await Promise.all(names.map((name) => begin(name, () => input(name, children.get(name)?.restarts ?? 0), false)))
    },
    async stop(reason) {
      isStopping = true
      for (const child of children.values()) {
        clearTimeout(child.timer)
        // A child without its input has started nothing.
        if (child.state === 'loading' || !child.input) child.worker.process.kill('SIGKILL')
        else send(child, { type: 'stop', reason })
      }
      await Promise.all([...children.values()].map(({ closed }) => closed))
    },
  }
}

function send({ worker }: Child, message: ParentMessage): void {
  if (worker.isConnected()) worker.send(message)
}

/** Passes on complete lines only. */
function relayLines(worker: Worker, write: (lines: string) => void): void {
  let incomplete = ''
  worker.process.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const all = incomplete + text
    const end = all.lastIndexOf('\n') + 1
    incomplete = all.slice(end)
    if (end > 0) write(all.slice(0, end))
  })
}
