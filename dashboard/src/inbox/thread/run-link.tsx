/** The sender of something that an automation did, as a link to the run. */
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { words } from '../../words/words.ts'

/** `runId`: absent if no automation did it. */
export const RunLink = ({ runId, children }: { runId: string | null | undefined; children: ReactNode }) =>
  runId ? (
    <Link className="inbox-run-link" href={`/automations/runs/${runId}`} title={words.inbox.bot.toRun}>
      {children}
    </Link>
  ) : (
    children
  )
