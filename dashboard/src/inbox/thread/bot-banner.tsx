/** The line above a thread whose conversation is with the bot: which automation answers, and the button that takes over from it. */
import { useState } from 'react'
import { Link } from 'wouter'
import { Button } from '../../../../ui/controls.tsx'
import { Icon } from '../../../../ui/icon.tsx'
import { useToast } from '../../../../ui/overlays.tsx'
import { call, invalidate, useCall } from '../../lib/api.ts'
import { useCanWrite } from '../../lib/session.tsx'
import { words } from '../../words/words.ts'
import type { Conversation } from '../model/data.ts'

const { bot } = words.inbox

export function BotBanner({ conversation: { id } }: { conversation: Conversation }) {
  const canWrite = useCanWrite()
  const toast = useToast()
  const [isBusy, setBusy] = useState(false)
  const runs = useCall(
    'GET /conversations/{id}/automation-runs',
    { params: { id }, query: { limit: 5 } },
    { live: true },
  )
  const open = runs.data?.find(({ state }) => state !== 'ended')
  const takeOver = async () => {
    setBusy(true)
    try {
      await call('POST /conversations/{id}/take-over', { params: { id } })
      toast.success(bot.takenOver)
      await invalidate({ queryKey: ['GET /conversations/counts'] })
    } catch {
      toast.error(bot.notTakenOver)
    }
    setBusy(false)
  }
  return (
    <div className="line inbox-bot" role="status" aria-label={bot.banner}>
      <Icon name="automations" />
      <span className="cut">{bot.answering(open?.automation_name)}</span>
      {open && (
        <Link className="small nowrap" href={`/automations/runs/${open.id}`}>
          {bot.showRun}
        </Link>
      )}
      {canWrite && <Button label={bot.takeOver} size="small" disabled={isBusy} onClick={() => void takeOver()} />}
    </div>
  )
}
