/** `/automations/{id}/preview`: the draft of an automation on a simulated phone, for members who may edit it. */
import type { Session } from '../accounts/callers.ts'
import { managers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { requireAutomation } from '../automation/automations.ts'
import type { Channel } from '../channels/channel.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { badRequest } from '../lib/errors.ts'
import type { Http } from '../lib/http/client.ts'
import { IdParams, Type } from '../lib/schema.ts'
import type { Signals } from '../signals/signals.ts'
import { useDraft } from './draft.ts'
import { createSimulatorClient } from './phone.ts'
import { PreviewSchema, readPreview } from './preview.ts'
import { keepOpen, type PreviewContext, requireSandbox, startSandbox } from './sandbox.ts'
import { skipWaiting } from './skip.ts'
import { start } from './start.ts'

const Written = Type.Object({
  text: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096 })),
  button: Type.Optional(
    Type.Object({
      id: Type.String({ minLength: 1, maxLength: 256 }),
      title: Type.String({ minLength: 1, maxLength: 256 }),
      is_row: Type.Optional(Type.Boolean({ description: 'It is a row of a list.' })),
      reply_to: Type.Optional(Type.String({ maxLength: 200, description: "The channel's id of the message." })),
    }),
  ),
})

export type PreviewTableOptions = PreviewContext & {
  http: Http
  channels: Record<ChannelName, Pick<Channel, 'windowMs' | 'explainError'>>
  publicUrl: string
  signals: Signals
}

export function previewTable(options: PreviewTableOptions): readonly Row[] {
  const { db, sealer, http, signals, channels } = options
  const simulator = createSimulatorClient(db, sealer, http)
  const context = { db, simulator, channel: channels.msgapp }
  const read = ({ workspaceId }: Session, id: string) => readPreview(db, options, workspaceId, id)

  /** The open preview with the current draft. 404 for an automation of another workspace. */
  const open = async ({ workspaceId, member }: Session, id: string) => {
    const automation = await requireAutomation(db, workspaceId, id)
    const sandbox = await requireSandbox(db, workspaceId, automation.id)
    await keepOpen(db, sandbox)
    const definition = await useDraft(context, workspaceId, sandbox, member.id)
    return { sandbox, definition }
  }
  const shared = { members: managers, audit: false, isQuiet: true, params: IdParams, data: PreviewSchema } as const
  return [
    row({
      call: 'GET /automations/:id/preview',
      members: managers,
      params: IdParams,
      data: PreviewSchema,
      run: async ({ caller, params }) => read(caller, (await requireAutomation(db, caller.workspaceId, params.id)).id),
    }),
    row({
      call: 'POST /automations/:id/preview',
      ...shared,
      run: async ({ caller, params }) => {
        const { id, draft, version } = await requireAutomation(db, caller.workspaceId, params.id)
        if (!draft && version === 0) throw badRequest('draft: there is nothing to preview')
        const sandbox = await startSandbox(options, caller.workspaceId, id)
        await simulator.requireAnswer(id)
        await useDraft(context, caller.workspaceId, sandbox, caller.member.id)
        return read(caller, id)
      },
    }),
    row({
      call: 'POST /automations/:id/preview/messages',
      ...shared,
      body: Written,
      run: async ({ caller, params, body: { text, button } }) => {
        if ((text === undefined) === (button === undefined)) throw badRequest('text: either text or button')
        const { sandbox } = await open(caller, params.id)
        if (button) await simulator.write(sandbox.id, { button })
        else if (text !== undefined) await simulator.write(sandbox.id, { text })
        return read(caller, sandbox.id)
      },
    }),
    row({
      call: 'POST /automations/:id/preview/start',
      ...shared,
      run: async ({ caller, params }) => {
        const { sandbox, definition } = await open(caller, params.id)
        await start(context, sandbox, definition)
        signals.changesQueued()
        return read(caller, sandbox.id)
      },
    }),
    row({
      call: 'POST /automations/:id/preview/skip',
      ...shared,
      run: async ({ caller, params }) => {
        const { sandbox } = await open(caller, params.id)
        await skipWaiting(db, sandbox)
        signals.changesQueued()
        return read(caller, sandbox.id)
      },
    }),
  ]
}
