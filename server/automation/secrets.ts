/** The secrets with which automations sign their calls. */
import type { SealContext } from '../lib/crypto.ts'

/** Binds a sealed secret to its row. */
export const sealContext = (workspaceId: string, automationId: string): SealContext => [
  'automations',
  workspaceId,
  automationId,
]
