/**
 * A preview of the chat widget in its settings: the panel of the widget itself, with a sample conversation, in a box that stands for
 * the window of the site. It cannot be operated.
 */
import { useEffect, useRef } from 'react'
import { describeReplyTime } from '../../../common/chat-hint.ts'
import type { Settings } from '../../../widget/src/api.ts'
import type { Chat } from '../../../widget/src/chat.ts'
import { createPanel } from '../../../widget/src/panel.ts'
import type { ChatView, MessageView } from '../../../widget/src/view.ts'
import { wordsFor } from '../../../widget/src/words.ts'
import { settingsWords } from '../words/settings.ts'

const { widget: text } = settingsWords.channels.web

type Props = Pick<Settings, 'title' | 'greeting' | 'color' | 'position'> & {
  askDetails: Settings['ask_details']
  memberNames: 'first' | 'full' | 'hidden'
  showsReplyTime: boolean
}

export function WidgetPreview(props: Props) {
  const { title, greeting, color, position, askDetails, memberNames, showsReplyTime } = props
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const host = document.createElement('parley-chat')
    const widgetWords = wordsFor(navigator.languages)
    const hint = showsReplyTime ? describeReplyTime('minutes', widgetWords.lang) : null
    const panel = createPanel({
      host,
      settings: { title, greeting, color, position, ask_details: askDetails, hint },
      words: widgetWords,
      chat: sampleChat(memberNames),
    })
    box.current?.replaceChildren(host)
    panel.show(true)
    panel.render()
  }, [title, greeting, color, position, askDetails, memberNames, showsReplyTime])
  return (
    <section className="settings-widget-preview" aria-label={text.preview}>
      <div ref={box} className="settings-widget-window" inert />
    </section>
  )
}

/** A conversation that shows messages and does nothing. */
function sampleChat(memberNames: Props['memberNames']): Chat {
  const at = new Date().toISOString()
  const [first] = text.sampleMember.split(' ')
  const names = { first, full: text.sampleMember, hidden: undefined }
  const message = (key: string, isOwn: boolean, content: string, sender?: string): MessageView => ({
    ...{ key, isOwn, text: content, sender, at },
    ...{ state: 'sent', media_url: null, type: 'text', isDeleted: false },
  })
  const view: ChatView = {
    messages: [
      message('question', true, text.sampleQuestion),
      message('answer', false, text.sampleAnswer, names[memberNames]),
    ],
    ...{
      unreadCount: 0,
      isOffline: false,
      hasEarlier: false,
      isIntroduced: false,
      typing: undefined,
      queued: undefined,
    },
  }
  const ignore = () => {}
  return {
    ...{ view: () => view, start: ignore, send: ignore, tap: ignore, sendFile: ignore, retry: ignore },
    ...{
      loadEarlier: async () => {},
      setOpen: ignore,
      draft: () => '',
      setDraft: ignore,
      reconnect: ignore,
      stop: ignore,
    },
  }
}
