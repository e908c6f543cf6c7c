/** The icons of the types of steps. */
import type { IconName } from '../../../../ui/icon.tsx'
import type { StepType } from './model/definition.ts'

export const stepIcons: Record<StepType, IconName> = {
  send: 'send',
  ask: 'chat',
  branch: 'branch',
  wait: 'clock',
  set: 'tag',
  note: 'note',
  call: 'webhooks',
  hand_over: 'person',
  end: 'stop',
}
