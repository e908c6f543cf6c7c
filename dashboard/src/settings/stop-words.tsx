/**
 * The words that stop broadcasts. Two always hold; a workspace adds its own,
 * in the language of its customers. Each change is kept at once.
 */
import { type FormEvent, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Card } from '../../../ui/card.tsx'
import { Field, Input } from '../../../ui/form.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { useToast } from '../../../ui/toast.tsx'
import { useChange } from '../lib/api.ts'
import { faultsOf } from '../lib/faults.ts'
import { words } from '../words/words.ts'
import type { WorkspaceView } from './workspace.tsx'

const { stopWords: text } = words.settings

export function StopWords({ of: stored, isManager }: { of: WorkspaceView; isManager: boolean }) {
  const toast = useToast()
  const [word, setWord] = useState('')
  const save = useChange('PATCH /workspace', {
    stale: ['GET /workspace'],
    onDone: () => {
      setWord('')
      toast.done(words.common.saved)
    },
  })
  const faults = faultsOf(save.error, ['opt_out_words'])
  const set = (next: string[]) => save.mutate({ body: { opt_out_words: next } })
  const add = (event: FormEvent) => {
    event.preventDefault()
    if (word.trim()) set([...stored.opt_out_words, word.trim()])
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
        {stored.opt_out_words.map((each) => (
          <li key={each} className="settings-chip">
            {each}
            {isManager && (
              <button
                type="button"
                aria-label={text.remove(each)}
                disabled={save.isPending}
                onClick={() => set(stored.opt_out_words.filter((other) => other !== each))}
              >
                <Icon name="close" />
              </button>
            )}
          </li>
        ))}
      </ul>
      {isManager && (
        <form className="settings-inline" onSubmit={add}>
          <Field label={text.add} hint={text.hint} fault={faults.opt_out_words ?? faults.rest}>
            {(wiring) => (
              <div className="settings-inline-input">
                <Input
                  {...wiring}
                  autoComplete="off"
                  placeholder={text.placeholder}
                  value={word}
                  onChange={(event) => setWord(event.target.value)}
                />
                <Button type="submit" icon="plus" busy={save.isPending} disabled={!word.trim()}>
                  {text.addButton}
                </Button>
              </div>
            )}
          </Field>
        </form>
      )}
      <p className="soft small">{text.start}</p>
    </Card>
  )
}
