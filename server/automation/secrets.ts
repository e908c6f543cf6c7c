/** The secrets with which automations sign their calls. */
import { randomToken, type SealContext } from '../lib/crypto.ts'

export const createSecret = (): string => `whsec_${randomToken()}`

/** Binds a sealed secret to its row. */
export const sealContext = (workspaceId: string, automationId: string): SealContext => [
  'automations',
  workspaceId,
  automationId,
]
