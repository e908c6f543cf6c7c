/** The last page and the browser of a contact that wrote in the web chat. */

import { useCall } from '../lib/api.ts'
import { formatBrief } from '../lib/time.ts'
import { readUserAgent } from '../lib/user-agent.ts'
import { Time } from '../ui/time.tsx'
import { words } from '../words/words.ts'

const { visit: texts } = words.contactPanel

/** `isShown`: the contact has the web channel. */
export function useVisit(contactId: string, isShown: boolean) {
  return useCall('GET /contacts/{id}/visit', { params: { id: contactId } }, { live: true, enabled: isShown }).data
}

type Visit = NonNullable<ReturnType<typeof useVisit>>

export function VisitFacts({ visit }: { visit: Visit }) {
  const { url, title, user_agent: agent, seen_at: at, customer_id: customerId } = visit
  const { browser, system } = readUserAgent(agent ?? '')
  return (
    <dl className="visit">
      <dt className="offscreen">{texts.page}</dt>
      <dd>
        <a href={url} target="_blank" rel="noreferrer noopener" title={url} className="cut">
          {title ?? url}
        </a>
        <span className="soft small cut">{url}</span>
      </dd>
      {browser && (
        <>
          <dt className="offscreen">{texts.browser}</dt>
          <dd>{system ? texts.device(browser, system) : browser}</dd>
        </>
      )}
      <dt className="offscreen">{texts.identity}</dt>
      <dd className={customerId ? undefined : 'soft small'}>
        {customerId ? texts.signedIn(customerId) : texts.unproved}
      </dd>
      <dd className="soft small">
        <Time at={at} format={(time) => texts.seen(formatBrief(time))} />
      </dd>
    </dl>
  )
}
