/** Macros: automations that a member starts by hand on conversations. */
import { useToast } from '../../../../ui/overlays.tsx'
import { CallError, call, invalidate, useCall } from '../../lib/api.ts'
import { useCanWrite } from '../../lib/session.tsx'
import { words } from '../../words/words.ts'

const { macros: text } = words.inbox

/** They change seldom: another conversation does not load them again. */
const staleMs = 60_000

type Macro = { id: string; name: string }
/** The most conversations that one call starts an automation on. */
const perCall = 100

/** The macros of the workspace, none for a viewer, and how to start one. */
export function useMacros({ enabled = true } = {}) {
  const toast = useToast()
  const canWrite = useCanWrite()
  const macros = useCall('GET /automations/macros', {}, { enabled: enabled && canWrite, staleMs }).data ?? []
  const start = async ({ id, name }: Macro, conversationIds: readonly string[]) => {
    try {
      const refusals = await startRuns(id, conversationIds)
      const startedCount = conversationIds.length - refusals.length
      if (startedCount > 0) toast.success(text.started(name, startedCount))
      if (refusals.length > 0) {
        toast.error(new CallError(400, 'invalid_request', text.notStarted(refusals.length, countReasons(refusals))))
      }
    } catch (error) {
      toast.error(error)
      // It was paused or deleted meanwhile.
      void invalidate({ queryKey: ['GET /automations/macros'] })
    }
  }
  return { macros, start: (macro: Macro, ids: readonly string[]) => void start(macro, ids) }
}

/** The reasons of the conversations on which it did not start. */
async function startRuns(id: string, conversationIds: readonly string[]): Promise<string[]> {
  const refusals: string[] = []
  for (let i = 0; i < conversationIds.length; i += perCall) {
    const body = { conversation_ids: conversationIds.slice(i, i + perCall) }
    const { data } = await call('POST /automations/{id}/runs', { params: { id }, body })
    refusals.push(...data.flatMap(({ error }) => error ?? []))
  }
  return refusals
}

const countReasons = (reasons: readonly string[]): { reason: string; count: number }[] =>
  [...new Set(reasons)].map((reason) => ({ reason, count: reasons.filter((each) => each === reason).length }))
