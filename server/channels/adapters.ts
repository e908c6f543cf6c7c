/** The adapters of all channels. */
import type { Times } from '../../common/times.ts'
import type { ChannelName } from '../contacts/resource.ts'
import type { Http } from '../lib/http/client.ts'
import type { Channel } from './channel.ts'
import { createMsgapp } from './msgapp/msgapp.ts'
import { createSocial } from './social/social.ts'
import { createWeb } from './web/web.ts'

export const createChannels = (http: Http, { sendMs }: Times['messages']): Record<ChannelName, Channel> => ({
  msgapp: createMsgapp(http, sendMs),
  social: createSocial(http, sendMs),
  web: createWeb(),
})
