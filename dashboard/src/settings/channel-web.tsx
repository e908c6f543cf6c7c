/** The web channel: the script tag for the website, the site ID and the widget settings. */
import { Secret } from '../../../ui/display.tsx'
import { CopyableCode, Facts } from '../ui/facts.tsx'
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
      <Facts
        className="settings-facts"
        facts={{ [channels.web.siteId]: <CopyableCode text={id} label={channels.web.copySiteId} /> }}
      />
      <WidgetSettings isManager={isManager} />
    </>
  )
}
