/** A template as the message of a step, with its values. */
import { Field, Select } from '../../../../../ui/controls.tsx'
import { useCall } from '../../../lib/api.ts'
import type { TemplateParams } from '../../../lib/calls.ts'
import { isUsable } from '../../../templates/status.tsx'
import { TemplateValues } from '../../../templates/values.tsx'
import { editorWords } from '../../../words/automation-editor.ts'
import type { Message } from '../model/definition.ts'

const { forms: text } = editorWords

type Template = Extract<Message, { type: 'template' }>['template']

const defaultLanguage = 'en_US'

export function TemplateForm({
  template,
  onChange,
}: {
  template: Template
  onChange: (next: Template, field?: string) => void
}) {
  const all = useCall('GET /templates', {}).data
  // Two numbers may have a template of the same name.
  const usable = [...new Map((all ?? []).filter(isUsable).map((each) => [keyOf(each), each])).values()]
  const key = template.name ? keyOf(template) : ''
  const chosen = usable.find((each) => keyOf(each) === key)
  const { params } = template
  return (
    <>
      <Field label={text.template} hint={all && usable.length === 0 ? text.noTemplates : text.templateHint}>
        {(wiring) => (
          <Select
            {...wiring}
            value={key}
            options={usable.map((each) => [keyOf(each), `${each.name} · ${each.language}`])}
            onChange={({ target }) => {
              const next = usable.find((each) => keyOf(each) === target.value)
              if (next) onChange({ name: next.name, language: next.language })
            }}
          >
            <option value="" disabled>
              {text.chooseTemplate}
            </option>
            {key && !chosen && <option value={key}>{template.name}</option>}
          </Select>
        )}
      </Field>
      {chosen && (
        <TemplateValues
          template={chosen}
          params={toParams(params)}
          withContact
          onChange={(next) => onChange({ ...template, params: next }, 'params')}
        />
      )}
    </>
  )
}

const keyOf = ({ name, language = defaultLanguage }: { name: string; language?: string }): string =>
  `${name} ${language}`

/** A list holds the values of the body. */
const toParams = (params: Template['params'] = {}): TemplateParams =>
  Array.isArray(params) ? { body: params } : params
