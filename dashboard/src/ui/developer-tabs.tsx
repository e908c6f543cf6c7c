/** The tabs that the pages for developers share. */
import { words } from '../words/words.ts'
import { Tabs } from './page.tsx'

const { tabs, title } = words.developers

export const DeveloperTabs = () => (
  <Tabs
    label={title}
    items={[
      { href: '/developers/requests', label: tabs.requests },
      { href: '/developers/events', label: tabs.events },
      { href: '/webhooks', label: tabs.webhooks },
      { href: '/developers/keys', label: tabs.keys },
    ]}
  />
)
