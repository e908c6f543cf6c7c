/** What a check of a connection tried, step by step: what went well, and what to mend where one did not. */

import { Button } from '../../../ui/button.tsx'
import { Icon } from '../../../ui/icon.tsx'
import type { DataOf } from '../lib/api.ts'
import { words } from '../words/words.ts'
import { type FieldName, fieldNames } from './channel-fields.tsx'

const { channels } = words.settings

type CheckView = DataOf<'POST /channels/{id}/check'>

type StepsProps = {
  steps: CheckView['steps']
  /** Goes to the field that is at fault. */
  onMend?: (field: FieldName) => void
}

export function CheckSteps({ steps, onMend }: StepsProps) {
  return (
    <div role="status">
      <ul className="settings-check" aria-label={channels.guide.checkResult}>
        {steps.map(({ step, ok, field, message }) => {
          const name = fieldNames.find((each) => each === field)
          return (
            <li key={step} data-ok={ok ? '' : undefined}>
              <span className="settings-check-mark">
                <Icon name={ok ? 'check' : 'close'} />
              </span>
              <div className="grow">
                <p>
                  <strong>{step}</strong>
                  <span className="offscreen">{ok ? channels.guide.passed : channels.guide.failed}</span>
                </p>
                <p className="small">{message}</p>
              </div>
              {!ok && name && onMend && (
                <Button size="small" icon="edit" onClick={() => onMend(name)}>
                  {channels.guide.fix(channels.fields[name].label)}
                </Button>
              )}
            </li>
          )
        })}
      </ul>
    </div>
  )
}
