/** Icons: one stroke, 24 by 24, in the colour of the text around them. They say nothing by themselves: the words beside them do. */
const paths = {
  inbox: 'M4 13h4l1.5 3h5L16 13h4M4 13l2.5-8h11L20 13v6H4z',
  overview: 'M4 20V10M10 20V4M16 20v-7M21 20H3',
  contacts:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM3 20c0-3.5 2.7-5.5 6-5.5s6 2 6 5.5M16 4.3a3.5 3.5 0 0 1 0 6.4M17.5 14.8c2.1.7 3.5 2.5 3.5 5.2',
  segments: 'M12 3v9h9M12 3a9 9 0 1 0 9 9',
  broadcasts: 'M4 10v4l10 5V5L4 10ZM14 8.5a3.5 3.5 0 0 1 0 7M17.5 6a8 8 0 0 1 0 12M6 14.5 7.5 20H10l-1-4',
  templates: 'M5 3h14v18H5zM9 8h6M9 12h6M9 16h3',
  webhooks: 'M9.5 8.5 6 15M6 17.5a2 2 0 1 0 0-.01M14 7a3 3 0 1 0-4.5 2.5M12 7l3.7 6.5M18 17.5a3 3 0 1 0-2.3-5M8 17h8',
  integrations: 'M9 3v5M15 3v5M6 8h12v4a6 6 0 0 1-12 0zM12 18v3',
  settings:
    'M12 15.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM19.4 13.6l1.8 1.4-1.9 3.2-2.1-.8a7 7 0 0 1-2 1.2L14.8 21h-3.7l-.3-2.4a7 7 0 0 1-2-1.2l-2.2.8L4.7 15l1.8-1.4a7 7 0 0 1 0-2.3L4.7 9.9l1.9-3.2 2.2.9a7 7 0 0 1 2-1.2L11.1 4h3.7l.4 2.4a7 7 0 0 1 2 1.2l2.1-.9 1.9 3.2-1.8 1.4a7 7 0 0 1 0 2.3Z',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM20 20l-4-4',
  plus: 'M12 5v14M5 12h14',
  close: 'M6 6l12 12M18 6 6 18',
  check: 'M5 12.5 10 17 19 7',
  checks: 'M2 12.5 6.5 17 15 7M11.5 16l1 1L21.5 7',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 7.5V12l3 2',
  alert: 'M12 8.5v5M12 17v.01M10.3 4.2 2.6 18a2 2 0 0 0 1.7 3h15.4a2 2 0 0 0 1.7-3L13.7 4.2a2 2 0 0 0-3.4 0Z',
  info: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 11v5M12 8v.01',
  chevron: 'M6 9l6 6 6-6',
  right: 'M9 6l6 6-6 6',
  back: 'M15 6l-6 6 6 6',
  more: 'M5 12v.01M12 12v.01M19 12v.01',
  send: 'M4 12 20 4l-5 16-3.5-6.5zM11.5 13.5 20 4',
  attach: 'M20 11.5 12 19.5a5 5 0 0 1-7-7L13 4.4a3.3 3.3 0 0 1 4.7 4.7L9.8 17a1.7 1.7 0 0 1-2.4-2.4l7.3-7.3',
  image: 'M4 5h16v14H4zM4 16l4.5-4.5 4 4L15 13l5 5M15.5 9.5v.01',
  video: 'M3 6h12v12H3zM15 10.5 21 7v10l-6-3.5',
  audio: 'M12 3a3 3 0 0 1 3 3v6a3 3 0 0 1-6 0V6a3 3 0 0 1 3-3ZM6 11.5a6 6 0 0 0 12 0M12 17.5V21',
  document: 'M6 3h8l4 4v14H6zM14 3v5h4',
  location: 'M12 21s7-6 7-11a7 7 0 0 0-14 0c0 5 7 11 7 11ZM12 12.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Z',
  person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4 21c0-4 3.5-6.5 8-6.5s8 2.5 8 6.5',
  phone: 'M6 3h4l1.5 5-2.5 2a12 12 0 0 0 5 5l2-2.5 5 1.5v4a2 2 0 0 1-2 2A17 17 0 0 1 4 5a2 2 0 0 1 2-2Z',
  mail: 'M3 6h18v12H3zM3 7l9 6 9-6',
  company: 'M5 21V4h9v17M14 9h5v12M3 21h18M8 8h3M8 12h3M8 16h3',
  tag: 'M4 4h7l9 9-7 7-9-9zM8 8v.01',
  copy: 'M8 8h12v12H8zM16 8V4H4v12h4',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 14h10l1-14M10 11v6M14 11v6',
  download: 'M12 4v11M7 11l5 5 5-5M4 20h16',
  upload: 'M12 16V5M7 9l5-5 5 5M4 20h16',
  refresh: 'M20 11a8 8 0 0 0-14-4.5L4 9M4 4v5h5M4 13a8 8 0 0 0 14 4.5L20 15M20 20v-5h-5',
  pause: 'M8 5v14M16 5v14',
  play: 'M7 5l12 7-12 7z',
  stop: 'M6 6h12v12H6z',
  key: 'M8 19a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM11 12l9-9M17 6l3 3M14.5 8.5 17 11',
  shield: 'M12 3 5 6v6c0 4.5 3 7.5 7 9 4-1.5 7-4.5 7-9V6zM9 12l2 2 4-4',
  bolt: 'M13 3 5 14h6l-1 7 8-11h-6z',
  link: 'M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7L12 7M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7L12 17',
  external: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  signout: 'M10 4H4v16h6M15 8l4 4-4 4M19 12H9',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM12 2v2M12 20v2M4 12H2M22 12h-2M5 5l1.5 1.5M17.5 17.5 19 19M5 19l1.5-1.5M17.5 6.5 19 5',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z',
  screen: 'M3 5h18v11H3zM8 20h8M12 16v4',
  filter: 'M4 5h16l-6 7.5V19l-4-2v-4.5z',
  reply: 'M9 7 4 12l5 5M4 12h9a7 7 0 0 1 7 7',
  smile: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM8.5 14a4 4 0 0 0 7 0M9 9.5v.01M15 9.5v.01',
  globe: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18',
  chat: 'M5 5h14v11h-7l-4 4v-4H5z',
  heart: 'M12 20s-8-5-8-10.5A4.5 4.5 0 0 1 12 7a4.5 4.5 0 0 1 8 2.5C20 15 12 20 12 20Z',
  off: 'M4 4l16 16M12 21a9 9 0 0 1-7.5-14M8 4a9 9 0 0 1 12 12',
  keyboard: 'M3 6h18v12H3zM7 10v.01M11 10v.01M15 10v.01M7 14h10',
} as const

export type IconName = keyof typeof paths

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  )
}
