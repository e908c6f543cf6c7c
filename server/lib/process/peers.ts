/**
 * A child process of a supervisor (`supervisor.ts`), and its view of the other children, its peers.
 *
 * A child loads its code, waits for its input, starts, and reports that it is ready. It stops when the supervisor or a signal
 * requests it, and exits at once when the supervisor is gone, so it never outlives the service.
 */
import { inspect } from 'node:util'
import { inWords } from './start-error.ts'

export type ParentMessage =
  | { type: 'start'; input: unknown }
  | { type: 'stop'; reason: string }
  | { type: 'question'; id: number; question: string; data: unknown }
  | { type: 'answers'; id: number; answers: Answer[]; statuses: ChildStatus[] }

export type ChildMessage =
  | { type: 'loaded' }
  | { type: 'ready'; value: unknown }
  | { type: 'failed'; text: string }
  | { type: 'ask'; id: number; question: string; data: unknown }
  | { type: 'answer'; id: number; value: unknown }

export type ChildStatus = {
  process: string
  isReady: boolean
  /** False until the first start is complete. */
  wasReady: boolean
  /** Milliseconds since it ended or, if it was never ready, since it was created; 0 if it is ready. */
  downMs: number
  restarts: number
}

export type Answer = { process: string; value: unknown }

/** `value` is undefined for a process that does not answer in time. */
type Answers = { answers: Answer[]; statuses: ChildStatus[] }

export type Peers = {
  /** Asks all other processes that are ready. */
  ask(question: string, data?: unknown): Promise<Answers>
  /** Answers the questions of other processes. */
  answer(question: string, respond: (data: unknown) => unknown): void
}

export type Child<Input> = {
  /** Reports that the code is loaded. The supervisor sends the input once it has it. */
  reportLoaded(): Promise<void>
  input: Promise<Input>
  peers: Peers
  /** Calls `stop` when the supervisor or a signal requests it. */
  onStopRequest(stop: (reason: string) => void): void
  /** Reports that the process is ready. `value` is for the supervisor. */
  reportReady(value?: unknown): Promise<void>
  /** Reports why the process cannot start, and exits. */
  exitFailed(error: unknown): Promise<never>
}

export function joinSupervisor<Input>(): Child<Input> {
  const input = Promise.withResolvers<Input>()
  const stopRequest = Promise.withResolvers<string>()
  const responders = new Map<string, (data: unknown) => unknown>()
  const asked = new Map<number, (answers: Answers) => void>()
  let lastId = 0

  const respond = async (question: string, data: unknown) => {
    try {
      return await responders.get(question)?.(data)
    } catch {
      return undefined
    }
  }
  process.on('message', async (message: ParentMessage) => {
    if (message.type === 'start') input.resolve(message.input as Input)
    if (message.type === 'stop') stopRequest.resolve(message.reason)
    if (message.type === 'question') {
      await send({ type: 'answer', id: message.id, value: await respond(message.question, message.data) })
    }
    if (message.type === 'answers') {
      asked.get(message.id)?.(message)
      asked.delete(message.id)
    }
  })
  // First of all listeners, and without exit handlers: the logger's waits for ever when nothing reads its output.
  process.prependListener('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stopRequest.resolve(signal))

  return {
    reportLoaded: () => send({ type: 'loaded' }),
    input: input.promise,
    peers: {
      async ask(question, data) {
        const id = ++lastId
        const answers = new Promise<Answers>((resolve) => asked.set(id, resolve))
        await send({ type: 'ask', id, question, data })
        return answers
      },
      answer: (question, respond) => void responders.set(question, respond),
    },
    onStopRequest: (stop) => void stopRequest.promise.then(stop),
    reportReady: (value) => send({ type: 'ready', value }),
    async exitFailed(error) {
      const words = inWords(error)
      await send({ type: 'failed', text: typeof words === 'string' ? words : inspect(words) })
      process.exit(1)
    },
  }
}

function send(message: ChildMessage): Promise<void> {
  // A lost connection ends the process.
  return new Promise((resolve) => process.send?.(message, () => resolve()) ?? resolve())
}
