/** Keywords that opt a contact out of broadcasts: two fixed ones and the workspace's own. Each change is saved at once. */
import { useState } from 'react'
import { Button, Field, Form, Input } from '../../../ui/controls.tsx'
import { Card } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { useChange } from '../lib/api.ts'
import { fieldErrorsOf } from '../lib/field-errors.ts'
import { words } from '../words/words.ts'

const { optOutKeywords: text } = words.settings

export function OptOutKeywords({ keywords, isManager }: { keywords: readonly string[]; isManager: boolean }) {
  const [keyword, setKeyword] = useState('')
  const save = useChange('PATCH /workspace', {
    stale: ['GET /workspace'],
    done: words.common.saved,
    // Clears the input only if it still holds the keyword that was added.
    onDone: (_, { body }) => setKeyword((now) => (body.opt_out_words?.includes(now.trim()) ? '' : now)),
  })
  const errors = fieldErrorsOf(save.error, ['opt_out_words'])
  const set = (next: string[]) => save.mutate({ body: { opt_out_words: next } })
  const add = () => {
    if (keyword.trim()) set([...keywords, keyword.trim()])
  }
  return (
    <Card title={text.title}>
      <p className="soft">{text.lead}</p>
      <ul className="settings-chips" aria-label={text.title}>
        {text.always.map((each) => (
          <li key={each} className="settings-chip" data-fixed="" title={text.alwaysHint}>
            {each}
            <span className="offscreen">{text.alwaysHint}</span>
          </li>
        ))}
        {keywords.map((each) => (
          <li key={each} className="settings-chip">
            {each}
            {isManager && (
              <button
                type="button"
                aria-label={text.remove(each)}
                disabled={save.isPending}
                onClick={() => set(keywords.filter((other) => other !== each))}
              >
                <Icon name="close" />
              </button>
            )}
          </li>
        ))}
      </ul>
      {isManager && (
        <Form className="settings-inline" onSubmit={add}>
          <Field label={text.add} hint={text.hint} error={errors.opt_out_words ?? errors.rest}>
            {(wiring) => (
              <div className="settings-inline-input">
                <Input
                  {...wiring}
                  autoComplete="off"
                  placeholder={text.placeholder}
                  value={keyword}
                  onChange={(event) => setKeyword(event.target.value)}
                />
                <Button
                  label={text.addButton}
                  type="submit"
                  icon="plus"
                  busy={save.isPending}
                  disabled={!keyword.trim()}
                />
              </div>
            )}
          </Field>
        </Form>
      )}
      <p className="soft small">{text.start}</p>
    </Card>
  )
}
