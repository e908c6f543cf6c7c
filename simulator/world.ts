/** The parts of one simulator that its request handlers share. */
import type { ServerResponse } from 'node:http'
import type { Times } from '../common/times.ts'
import type { Callbacks } from './delivery/callbacks.ts'
import type { InFlightMessage, Statuses } from './delivery/statuses.ts'
import type { Accounts } from './state/accounts.ts'
import type { Downloads } from './state/downloads.ts'
import type { Faults } from './state/faults.ts'
import type { Journal } from './state/journal.ts'
import type { Log } from './state/log.ts'
import type { MediaStore } from './state/media.ts'
import type { Phones } from './state/phones.ts'
import type { Quotas } from './state/quotas.ts'
import type { SentMessages } from './state/sent-messages.ts'

export type World = {
  readonly log: Log
  readonly publicUrl: () => string
  /** Runs outside the service: accounts are registered by a control call. */
  readonly isStandalone: boolean
  readonly accounts: Accounts
  readonly journal: Journal
  readonly sent: SentMessages
  readonly faults: Faults
  readonly callbacks: Callbacks<InFlightMessage>
  readonly statuses: Statuses
  readonly phones: Phones
  readonly media: MediaStore
  readonly downloads: Downloads
  readonly quotas: Quotas
  readonly times: Times['simulator']
  /** Takes one control call from the quota; false when the quota is used up. */
  readonly takeControlCall: (now: number) => boolean
  /** Responses of requests that a fault leaves unanswered. */
  readonly hanging: Set<ServerResponse>
  /** The number of the next callback in the journal. */
  nextCallback(): number
}
