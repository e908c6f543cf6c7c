/** The guides above the operations: authentication, errors, limits, pagination, idempotency and webhooks. */
import { type ReactNode, useEffect, useId, useState } from 'react'
import { CopyButton } from '../../ui/copy.tsx'
import { Anchor, CodeCard, Inline, Prose, StatusBadge, Tabs } from './code.tsx'
import { errorMeanings } from './errors.ts'
import type { ApiDocument, Operation } from './openapi.ts'
import { secret, timestamp, vectors } from './webhook-vectors.ts'

type GuidesProps = { document: ApiDocument | undefined; operations: Operation[]; baseUrl: string }
type Sample = { title: string; language: string; code: string }

/** `{base_url}` in a sample is replaced. `After` and `Side` render below the text and below the samples. */
type Guide = {
  id: string
  title: string
  text: string
  samples: Sample[]
  After?: (props: GuidesProps) => ReactNode
  Side?: () => ReactNode
}

export const Guides = (props: GuidesProps) => (
  <>
    <Introduction {...props} />
    {guides.slice(1).map(({ id, title, text, samples, After, Side }) => (
      <section className="guide" id={id} key={id}>
        <div className="text">
          <h2>
            {title}
            <Anchor id={id} label={title} />
          </h2>
          <Prose text={text} />
          {After && <After {...props} />}
        </div>
        <div className="side">
          <Samples samples={samples} baseUrl={props.baseUrl} />
          {Side && <Side />}
        </div>
      </section>
    ))}
  </>
)

const Samples = ({ samples, baseUrl }: { samples: Sample[]; baseUrl: string }) =>
  samples.map(({ title, language, code }) => (
    <CodeCard
      key={title}
      head={title}
      label={title}
      code={code.replaceAll('{base_url}', baseUrl)}
      language={language}
    />
  ))

const startLinks = [
  ['authentication', 'Authenticate', 'Send an API key with the right scope'],
  ['errors', 'Handle errors', 'One format, stable codes'],
  ['idempotency', 'Retry safely', 'Repeat a POST without duplicates'],
  ['verifying', 'Receive events', 'Verify the webhooks we send'],
]

const Introduction = ({ document, baseUrl }: GuidesProps) => (
  <section className="guide" id="introduction">
    <div className="text">
      <h1>{document?.info.title ?? 'Parley API'}</h1>
      <div className="lead">
        <Prose text={document?.info.description} />
      </div>
      <div className="base">
        <span className="base-label">Base URL</span>
        <code>{baseUrl}</code>
        <CopyButton text={baseUrl} size="small" />
      </div>
      <ul className="starts">
        {startLinks.map(([id, title, text]) => (
          <li key={id}>
            <a className="start" href={`#${id}`}>
              <strong>{title}</strong> {text}
            </a>
          </li>
        ))}
      </ul>
    </div>
    <div className="side">
      <Samples samples={guides[0]?.samples ?? []} baseUrl={baseUrl} />
    </div>
  </section>
)

export const guides: readonly Guide[] = [
  {
    id: 'introduction',
    title: 'Introduction',
    text: '',
    samples: [
      {
        title: 'Your first request',
        language: 'curl',
        code: `curl {base_url}/me \\
  -H "Authorization: Bearer $PARLEY_API_KEY"`,
      },
      {
        title: 'Response',
        language: 'json',
        code: `{
  "data": {
    "account": {
      "id": "01980a4e-7c1b-7f3a-9d52-3b6f0e8c4a17",
      "name": "Acme Support"
    },
    "key": {
      "id": "01980a4f-02d6-7b1e-8c94-a5d0f7e3b621",
      "scopes": ["contacts:read", "contacts:write"]
    }
  }
}`,
      },
    ],
  },
  {
    id: 'authentication',
    title: 'Authentication',
    text: `Send an API key as a bearer token with every request. A key belongs to one workspace and cannot access others. Create keys in
the dashboard under **Settings, API keys**. A key is shown only once, when you create it.

An operation requires at most one scope, which is shown next to it. Without that scope the response is \`403\`, and the message names
the missing scope. [\`GET /me\`](#operation-getMe) works with every key and lists its scopes.

**A key is a password.** Use it on your server only, never in web pages or apps. The API sends no CORS headers, so browsers on other
sites cannot call it.`,
    samples: [{ title: 'Request header', language: 'headers', code: 'Authorization: Bearer svc_live_…' }],
    After: ScopeTable,
  },
  {
    id: 'errors',
    title: 'Errors',
    text: `A failed request has a status of 400 or above and always the same body format. Branch on \`code\`: its meaning never changes. The
\`message\` is for people, and its wording may change.

Every response has an \`X-Request-Id\`. If you send your own (letters, digits and dashes), the service keeps it, so one id connects
your logs and ours.`,
    samples: [
      {
        title: '404 Not Found',
        language: 'json',
        code: `{
  "error": {
    "code": "not_found",
    "message": "contact not found"
  }
}`,
      },
    ],
    After: ErrorTable,
  },
  {
    id: 'rate-limits',
    title: 'Rate limits',
    text: `A key may make 120 requests per window of 60 seconds. The window starts with its first request. Every response to a valid key
reports the remaining requests.

Above the limit the response is \`429\` with \`Retry-After\`. Wait that many seconds and send the request again.`,
    samples: [
      {
        title: 'Headers of every response',
        language: 'headers',
        code: `X-RateLimit-Limit: 120
X-RateLimit-Remaining: 87
X-RateLimit-Reset: 1767225600`,
      },
    ],
  },
  {
    id: 'pagination',
    title: 'Pagination',
    text: `Lists are sorted from newest to oldest. \`limit\` sets the page size: 1 to 100, default 50. If there are more items,
\`meta.next_cursor\` is a string. Pass it unchanged as \`cursor\` to get the next page. On the last page it is \`null\`.

A cursor marks a position, not a page number. Items that are added while you read cause neither duplicates nor gaps. An invalid
cursor returns the first page.`,
    samples: [
      {
        title: 'Read a whole list',
        language: 'javascript',
        code: `let cursor = ''
do {
  const response = await fetch(
    \`{base_url}/contacts?limit=100&cursor=\${cursor}\`,
    { headers: { Authorization: \`Bearer \${key}\` } },
  )
  const { data, meta } = await response.json()
  for (const contact of data) await store(contact)
  cursor = meta.next_cursor
} while (cursor)`,
      },
    ],
  },
  {
    id: 'idempotency',
    title: 'Idempotency',
    text: `A connection can fail after the service has done the work and before you receive the response. Send an \`Idempotency-Key\` of 1 to
255 characters with a \`POST\`, preferably random. Then you can safely retry the request.

- For 24 hours, the same key with the same body and path returns the first response again, marked \`Idempotent-Replayed: true\`. The
service acts once.
- A retry that arrives while the first request is in flight waits for its response.
- The same key with another body returns \`400\`.
- A response with the secret of a webhook is returned again only to the API key that made the request. Another API key gets \`400\`.
- Rejected requests (400 to 404, 429) are not stored. Correct the request and send it again with the same key.`,
    samples: [
      {
        title: 'Safe to retry',
        language: 'curl',
        code: `curl -X POST {base_url}/contacts \\
  -H "Authorization: Bearer $PARLEY_API_KEY" \\
  -H "Idempotency-Key: 5f0c1e9a-signup-4711" \\
  -H "Content-Type: application/json" \\
  -d '{ "phone": "+14155550100" }'`,
      },
    ],
  },
  {
    id: 'verifying',
    title: 'Webhooks: verifying a delivery',
    text: `Anyone can post to your URL, so verify each delivery. The service signs it with the \`secret\` from the response of
[\`POST /webhooks\`](#operation-createWebhook). \`v1\` is the HMAC-SHA256, in lower-case hex, of the timestamp \`t\`, a dot and the body. The
key is the whole secret, including \`whsec_\`.

- Use the raw body, before anything parses it.
- Compare in constant time. Reject a \`t\` that differs from your clock by more than 300 seconds. Every attempt has a new signature, so
late retries pass.
- Accept the request if any \`v1\` matches. While a secret is [rotated](#operation-rotateWebhookSecret) with an overlap, the header is
\`t=…,v1=<old>,v1=<new>\`. Ignore other parts after the first.
- Respond with 2xx within 5 seconds and process the event afterwards. Timeouts, connection errors, 5xx, 408 and 429 are retried after
about 3, 6, 12 and 24 seconds. Every other response, including redirects, is final.
- Process each \`id\` once: an event can arrive twice and out of order.
- After 15 consecutive failed events the webhook becomes inactive. Send [\`PATCH\`](#operation-updateWebhook) with \`is_active: true\` to
activate it again.

Receivers to copy, without dependencies: [TypeScript](/docs/receivers/verify.ts), [Python](/docs/receivers/verify.py),
[PHP](/docs/receivers/verify.php), [Go](/docs/receivers/verify.go).

To test your own code, use the secret \`${secret}\` and the timestamp \`${timestamp}\`:`,
    samples: [
      {
        title: 'A delivery',
        language: 'headers',
        code: `POST /hooks/parley HTTP/1.1
Content-Type: application/json
X-Service-Event: contact.created
X-Service-Webhook-Id: 01980a52-6d0e-7c44-b1f7-2f9a4c1d8e03
X-Service-Signature: t=1767225600,v1=9f2c…`,
      },
    ],
    After: VectorTable,
    Side: Receivers,
  },
]

function ScopeTable({ operations }: GuidesProps) {
  const scopes = [...new Set(operations.flatMap(({ scope }) => scope ?? []))].sort()
  return (
    <Table
      heads={['Scope', 'Operations']}
      rows={scopes.map((scope) => ({
        key: scope,
        cells: [
          <code key="scope">{scope}</code>,
          <ul key="operations">
            {operations
              .filter((operation) => operation.scope === scope)
              .map(({ id, method, path }) => (
                <li key={id}>
                  <a className="scope-link" href={`#${id}`}>
                    <code>{`${method} ${path}`}</code>
                  </a>
                </li>
              ))}
          </ul>,
        ],
      }))}
    />
  )
}

function ErrorTable({ document }: GuidesProps) {
  const codes = document?.components?.schemas?.Error?.properties?.error?.properties?.code?.enum ?? []
  return (
    <Table
      heads={['Status', 'Code and meaning']}
      rows={codes.map(String).map((code) => {
        const { status, meaning = 'See the message.' } = errorMeanings[code] ?? {}
        return {
          key: code,
          cells: [
            status ? <StatusBadge key="status" status={status} /> : '',
            <div key="meaning">
              <code className="name">{code}</code>
              <p>
                <Inline text={meaning} />
              </p>
            </div>,
          ],
        }
      })}
    />
  )
}

function VectorTable() {
  const rows = vectors.map((vector) => ({
    key: vector[1],
    cells: vector.map((text) => <code key={text}>{text}</code>),
  }))
  return <Table heads={['Body', 'v1']} rows={rows} />
}

type TableProps = { heads: string[]; rows: { key: string; cells: ReactNode[] }[] }

const Table = ({ heads, rows }: TableProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it.
  <section className="table-scroll" tabIndex={0} aria-label={heads.join(', ')}>
    <table>
      <thead>
        <tr>
          {heads.map((head) => (
            <th scope="col" key={head}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, cells }) => (
          <tr key={key}>
            {cells.map((cell, index) => (
              <td key={heads[index]}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)

/** The tested files of `receivers/`. Each is loaded when its tab is first shown. */
const receivers = [
  { name: 'TypeScript', language: 'typescript', path: '/docs/receivers/verify.ts' },
  { name: 'Python', language: 'python', path: '/docs/receivers/verify.py' },
  { name: 'PHP', language: 'php', path: '/docs/receivers/verify.php' },
  { name: 'Go', language: 'go', path: '/docs/receivers/verify.go' },
]

function Receivers() {
  const panelId = useId()
  const [selected, setSelected] = useState('TypeScript')
  const [texts, setTexts] = useState<Record<string, string>>({})
  const receiver = receivers.find(({ name }) => name === selected)
  useEffect(() => {
    if (!receiver || texts[receiver.name] !== undefined) return
    const { name, path } = receiver
    void fetchText(path).then((text) => setTexts((known) => ({ ...known, [name]: text })))
  }, [receiver, texts])
  return (
    <div className="receivers">
      <CodeCard
        head={
          <Tabs
            label="Receiver"
            names={receivers.map(({ name }) => name)}
            selected={selected}
            panelId={panelId}
            onSelect={setSelected}
          />
        }
        label="Webhook receiver"
        code={texts[selected] ?? ''}
        language={receiver?.language ?? ''}
        panelId={panelId}
      />
    </div>
  )
}

async function fetchText(path: string): Promise<string> {
  try {
    const response = await fetch(path)
    if (response.ok) return await response.text()
  } catch {
    // Reported below, like a failed response.
  }
  return `${path} could not be loaded.`
}
