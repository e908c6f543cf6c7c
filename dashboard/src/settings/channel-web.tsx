/** The web channel has no provider: a line in the page of a site, and visitors can write. */
import { CopyButton, Secret } from '../../../ui/copy.tsx'
import { words } from '../words/words.ts'
import { WebLook } from './channel-look.tsx'
import type { Connection } from './channels.tsx'

const { channels } = words.settings

export function WebChannel({ of: { id }, isManager }: { of: Connection; isManager: boolean }) {
  const snippet = `<script src="${location.origin}/widget.js" data-site="${id}" async></script>`
  return (
    <>
      <p>{channels.web.paste}</p>
      <Secret text={snippet} />
      <dl className="facts settings-facts">
        <dt>{channels.web.siteId}</dt>
        <dd className="row">
          <code>{id}</code>
          <CopyButton text={id} size="small" label={channels.web.copySiteId} />
        </dd>
      </dl>
      <WebLook isManager={isManager} />
    </>
  )
}
