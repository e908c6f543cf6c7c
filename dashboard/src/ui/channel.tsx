/** The mark of a channel, alone or beside the avatar of a contact. */
import { Avatar } from '../../../ui/display.tsx'
import { Icon, type IconName } from '../../../ui/icon.tsx'
import { words } from '../words/words.ts'

export type ChannelName = 'msgapp' | 'social' | 'web'

const icons: Record<ChannelName, IconName> = { msgapp: 'phone', social: 'heart', web: 'globe' }

export function ChannelMark({ channel }: { channel: ChannelName }) {
  return (
    <span className="channel" data-channel={channel} title={words.channels[channel]}>
      <Icon name={icons[channel]} />
      <span className="offscreen">{words.channels[channel]}</span>
    </span>
  )
}

export const ChannelAvatar = ({ name, channel }: { name: string; channel: ChannelName }) => (
  <span className="channel-avatar">
    <Avatar name={name} />
    <ChannelMark channel={channel} />
  </span>
)
