/** The result of a connection check: each step with its message, and a button to the field to fix. */
import { Button } from '../../../ui/controls.tsx'
import { Icon } from '../../../ui/icon.tsx'
import type { DataOf } from '../lib/api.ts'
import { settingsWords } from '../words/settings.ts'
import { type FieldName, fieldNames } from './channel-fields.tsx'

const { channels } = settingsWords

type CheckView = DataOf<'POST /channels/{id}/check'>

type StepsProps = {
  steps: CheckView['steps']
  /** Focuses the field that caused the failure. */
  onFix?: (field: FieldName) => void
}

export function CheckSteps({ steps, onFix }: StepsProps) {
  return (
    <div role="status">
      <ul className="settings-check lined" aria-label={channels.guide.checkResult}>
        {steps.map(({ step, ok, field, message }) => {
          const name = fieldNames.find((each) => each === field)
          return (
            <li key={step} data-ok={ok ? '' : undefined}>
              <span className="mark settings-check-mark">
                <Icon name={ok ? 'check' : 'close'} />
              </span>
              <div className="grow">
                <p>
                  <strong>{step}</strong>
                  <span className="offscreen">{ok ? channels.guide.passed : channels.guide.failed}</span>
                </p>
                <p className="small">{message}</p>
              </div>
              {!ok && name && onFix && (
                <Button
                  label={channels.guide.fix(channels.fields[name].label)}
                  size="small"
                  icon="edit"
                  onClick={() => onFix(name)}
                />
              )}
            </li>
          )
        })}
      </ul>
    </div>
  )
}
