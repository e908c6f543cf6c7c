/** The structured content of a message: orders, form answers, shared posts, and where the customer came from. */

import { Icon, type IconName } from '../../../../ui/icon.tsx'
import { formatMoney, formatNumber } from '../../lib/time.ts'
import { words } from '../../words/words.ts'
import { Card } from './card.tsx'
import { answersOf, type Details, orderOf, recordOf, recordsOf, referralOf, textOf, webUrl } from './parse-content.ts'
import { Text } from './text.tsx'

const { message: labels } = words.inbox
const { structured: text } = words.inbox

const Line = ({ icon, label, url }: { icon: IconName; label: string; url?: string | undefined }) => (
  <p className="line inbox-kind">
    <Icon name={icon} />
    {url ? (
      <a href={url} target="_blank" rel="noopener noreferrer nofollow">
        {label}
      </a>
    ) : (
      label
    )}
  </p>
)

/** Lines above a message: the ad, story or product it refers to, or that it was forwarded. */
export function Origin({ content }: { content: Details }) {
  const referral = referralOf(content.referral)
  const story = recordOf(content.story)
  const product = textOf(recordOf(content.referred_product)?.product_retailer_id)
  return (
    <>
      {referral && (
        <Line icon="link" label={text.referral[referral.source](referral.title)} url={webUrl(referral.url)} />
      )}
      {story && <Line icon="reply" label={text.storyReply} url={webUrl(textOf(story.url))} />}
      {product && <Line icon="tag" label={text.product(product)} />}
      {content.forwarded === true && <Line icon="right" label={text.forwarded} />}
    </>
  )
}

/** A message that the service stored as `unsupported`. Shows the parts that can be read. */
export function Unsupported({ content }: { content: Details | null }) {
  if (!content) return <p className="inbox-system">{labels.unsupported}</p>
  const { type, group_id: group } = content
  if (content.order) return <Order order={content.order} />
  if (content.attachment) return <Shared attachment={content.attachment} />
  if (type === 'call') return <Card icon="phone" title={text.call} lines={[text.callText]} />
  if (type === 'request_welcome') return <p className="inbox-system">{text.opened}</p>
  const written = textIn(content)
  if (written) {
    return (
      <>
        {group !== undefined && <Line icon="contacts" label={text.group} />}
        <Text text={written} />
      </>
    )
  }
  if (Object.keys(content).join() === 'referral') return <p className="inbox-system">{text.referralOnly}</p>
  const [error] = recordsOf(content.errors)
  const reason = textOf(recordOf(error?.error_data)?.details) ?? textOf(error?.title)
  return (
    <>
      {group !== undefined && <Line icon="contacts" label={text.group} />}
      <p className="inbox-system">
        {labels.unsupported} {reason}
      </p>
    </>
  )
}

/** The text or caption inside an unsupported message. */
const textIn = ({ type, text, ...content }: Details): string | undefined => {
  const part = typeof type === 'string' ? recordOf(content[type]) : undefined
  return textOf(recordOf(text)?.body) ?? textOf(text) ?? textOf(part?.caption)
}

function Order({ order }: { order: unknown }) {
  const { note, items, totals } = orderOf(order)
  return (
    <div className="inbox-structured small">
      <Line icon="document" label={text.order(items.length)} />
      <table>
        <thead className="offscreen">
          <tr>
            <th>{text.item}</th>
            <th>{text.quantity}</th>
            <th>{text.amount}</th>
          </tr>
        </thead>
        <tbody>
          {items.map(({ name, quantity, price, currency }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the items of an order keep their order.
            <tr key={index}>
              <td>{name ?? text.unnamed}</td>
              <td>
                {price === undefined
                  ? formatNumber(quantity)
                  : text.times(formatNumber(quantity), formatMoney(price, currency))}
              </td>
              <td>{price === undefined ? '' : formatMoney(quantity * price, currency)}</td>
            </tr>
          ))}
        </tbody>
        {totals.length > 0 && (
          <tfoot>
            <tr>
              <th colSpan={2}>{text.total}</th>
              <td>{totals.map(({ amount, currency }) => formatMoney(amount, currency)).join(' + ')}</td>
            </tr>
          </tfoot>
        )}
      </table>
      <Text text={note ?? null} />
    </div>
  )
}

export function FormAnswers({ form }: { form: unknown }) {
  const answers = answersOf(form)
  if (answers.length === 0) return null
  return (
    <div className="inbox-structured small">
      <table>
        <caption className="offscreen">{text.answers}</caption>
        <tbody>
          {answers.map(({ question, answer }) => (
            <tr key={question}>
              <th scope="row">{question}</th>
              <td>{answer}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** A post, a reel, a story or a link. The channel's link to it expires. */
export function Shared({ attachment }: { attachment: unknown }) {
  const { type, title, url } = recordOf(attachment) ?? {}
  const known = textOf(type) ?? ''
  const href = webUrl(textOf(url))
  const label =
    (Object.hasOwn(text.shared, known) && text.shared[known]) || (href ? text.sharedLink : labels.unsupported)
  const name = textOf(title)
  return (
    <Card icon="link" title={name ?? label} lines={name ? [label] : []}>
      {href && (
        <a href={href} target="_blank" rel="noopener noreferrer nofollow">
          {text.open}
        </a>
      )}
    </Card>
  )
}
