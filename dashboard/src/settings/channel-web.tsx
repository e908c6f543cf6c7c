/** The web channel: the script tag for the website, the site ID and the widget settings. */
import { CopyButton, Secret } from '../../../ui/display.tsx'
import { words } from '../words/words.ts'
import type { Connection } from './connection.ts'
import { WidgetSettings } from './widget-settings.tsx'

const { channels } = words.settings

export function WebChannel({ connection: { id }, isManager }: { connection: Connection; isManager: boolean }) {
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
      <WidgetSettings isManager={isManager} />
    </>
  )
}
