/** The steps of a request before and after its handler, in order. `lib/http/server.ts` has those of every request. */

import { recordActions } from './accounts/audit.ts'
import { admitKey, requireScope } from './accounts/auth.ts'
import { type IdempotencyOptions, keepAnswers } from './accounts/idempotency.ts'
import type { RequestLog } from './accounts/request-log.ts'
import { shareReads } from './accounts/shared-reads.ts'
import { admitMember } from './accounts/sign-in/sessions.ts'
import { signalChanges } from './accounts/stream.ts'
import type { ApiPools } from './config/pools.ts'
import { followMerges } from './conversations/follow-merges.ts'
import { requireVisible } from './conversations/visible-step.ts'
import { refuseUnknownPath, type Step } from './lib/http/apply-steps.ts'
import type { Signals } from './signals/signals.ts'

type StepOptions = { pools: ApiPools; answering: IdempotencyOptions; signals: Signals }

/** A call of the public API. */
export const keySteps = ({
  pools,
  answering,
  signals,
  requestLog,
}: StepOptions & { requestLog: RequestLog }): Step[] => [
  requestLog.step,
  admitKey(pools.admission),
  refuseUnknownPath,
  requireScope,
  shareReads(),
  keepAnswers(answering),
  signalChanges(signals),
]

/** A call of the dashboard. */
export const memberSteps = ({ pools, answering, signals, publicUrl }: StepOptions & { publicUrl: string }): Step[] => [
  admitMember(pools.admission, publicUrl),
  refuseUnknownPath,
  keepAnswers(answering),
  requireVisible(pools.general),
  followMerges(pools.general),
  recordActions(pools.admission),
  signalChanges(signals),
]
