/** The adapters of all channels. */
import type { ChannelName } from '../contacts/contacts.ts'
import type { Http } from '../lib/http.ts'
import type { Channel } from './channel.ts'
import { createMsgapp } from './msgapp/msgapp.ts'
import { createSocial } from './social/social.ts'
import { createWeb } from './web/web.ts'

export const createChannels = (http: Http): Record<ChannelName, Channel> => ({
  msgapp: createMsgapp(http),
  social: createSocial(http),
  web: createWeb(),
})
