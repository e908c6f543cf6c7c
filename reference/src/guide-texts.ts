/** The texts and samples of the guides above the operations. Over 400 lines because it is one list of texts. */
import { secret, timestamp } from './webhook-vectors.ts'

/** `codes`: the same code in several languages, by the names of the tabs. */
export type Sample =
  | { title: string; language: string; code: string }
  | { title: string; codes: Record<string, string> }

/** `{base_url}` and `{service}` in a sample are replaced. `after` and `side`: what the page shows below the text and the samples. */
type Guide = {
  id: string
  title: string
  text: string
  samples: Sample[]
  after?: 'scopes' | 'errors' | 'outcomes' | 'vectors'
  side?: 'receivers'
}

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
    id: 'first-message',
    title: 'Send your first message',
    text: `**1. Create a key.** In the dashboard, an owner or admin creates an API key with the scope \`messages:send\`. It is shown once. Set it
as \`PARLEY_API_KEY\`. The demo's key is in \`data/demo.json\`.

**2. Install an SDK,** or use curl. This service serves the packages ([SDKs and commands](#sdks)).

**3. Send a template.** \`order_confirmed\` is a template of the demo with two values. For your own, see
[\`GET /templates\`](#operation-listTemplates) and [Template values](#template-values).

\`201\` means that the channel accepted the message. The events \`message.status_updated\` report \`delivered\` and \`read\`. To see
them, run \`npx parley-sdk listen\` in the folder where you installed the SDK.

**Then:** when the customer replies, a window of 24 hours opens, in which you can send
[text, files, buttons and more](#operation-sendMessage). Outside it only templates are allowed. Give every message an
[\`Idempotency-Key\`](#idempotency), and read [Did it send?](#did-it-send) before you repeat one.`,
    samples: [
      {
        title: 'Install',
        codes: {
          TypeScript: 'curl -O {service}/docs/sdk/parley-sdk.tgz\nnpm install ./parley-sdk.tgz',
          Python: 'pip install {service}/docs/sdk/parley_sdk.tar.gz',
          curl: 'export PARLEY_API_KEY=svc_live_…',
        },
      },
      {
        title: 'Send a template',
        codes: {
          TypeScript: `import { Parley } from 'parley-sdk'

const parley = new Parley({
  apiKey: process.env.PARLEY_API_KEY,
  baseUrl: '{base_url}',
})
const sent = await parley.messages.send({
  to: '+14155550100',
  name: 'Ann',
  type: 'template',
  template: { name: 'order_confirmed', params: ['Ann', 'A-1009'] },
})
console.log(sent.message_id)`,
          Python: `import os
from parley_sdk import Parley

parley = Parley(os.environ['PARLEY_API_KEY'], '{base_url}')
sent = parley.messages.send({
    'to': '+14155550100',
    'name': 'Ann',
    'type': 'template',
    'template': {'name': 'order_confirmed', 'params': ['Ann', 'A-1009']},
})
print(sent['message_id'])`,
          curl: `curl {base_url}/messages \\
  -H "Authorization: Bearer $PARLEY_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{ "to": "+14155550100", "name": "Ann", "type": "template",
        "template": { "name": "order_confirmed", "params": ["Ann", "A-1009"] } }'`,
        },
      },
    ],
  },
  {
    id: 'sdks',
    title: 'SDKs and commands',
    text: `Both SDKs have a method for every operation, types, iteration over all pages, safe retries, webhook verification and the event
stream. They have no dependencies. They are in no registry: install the files of this service, which fit its version, and keep them in your
repository.

- **TypeScript and JavaScript:** [parley-sdk.tgz](/docs/sdk/parley-sdk.tgz), for Node 20 and newer, Bun, Deno and edge runtimes.
- **Python:** [parley_sdk.tar.gz](/docs/sdk/parley_sdk.tar.gz), for Python 3.9 and newer, blocking and asyncio.

The package for npm also has commands for the terminal: \`listen\` forwards events to your machine, signed like webhooks; \`tail\` prints
them; \`send\`, \`templates\` and \`trigger\` try things out; \`mcp\` offers the workspace to an assistant. \`npx parley-sdk help\` lists
them.

Other languages: generate a client from [the OpenAPI document](/openapi.json).`,
    samples: [
      {
        title: 'Install',
        codes: {
          TypeScript: 'curl -O {service}/docs/sdk/parley-sdk.tgz\nnpm install ./parley-sdk.tgz',
          Python: 'pip install {service}/docs/sdk/parley_sdk.tar.gz',
        },
      },
      {
        title: 'Commands',
        language: 'curl',
        code: `export PARLEY_API_KEY=svc_live_…
export PARLEY_URL={service}
npx parley-sdk listen --forward http://localhost:3000/hook
npx parley-sdk send --to +14155550100 --template hello_world
npx parley-sdk help`,
      },
    ],
  },
  {
    id: 'authentication',
    title: 'Authentication',
    text: `Send an API key as a bearer token with every request. A key belongs to one workspace and cannot access others. Create keys in
the dashboard under **Developers, API keys**, with an expiry if you want one. A key is shown only once, when you create it. If you are
signed in as an owner or admin, the forms on this page make a temporary key for you.

An operation requires at most one scope, which is shown next to it. Without that scope the response is \`403\`, and the message names
the missing scope. [\`GET /me\`](#operation-getMe) works with every key and lists its scopes.

**A key is a password.** Use it on your server only, never in web pages or apps. The API sends no CORS headers, so browsers on other
sites cannot call it.`,
    samples: [{ title: 'Request header', language: 'headers', code: 'Authorization: Bearer svc_live_…' }],
    after: 'scopes',
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
    after: 'errors',
  },
  {
    id: 'template-values',
    title: 'Template values',
    text: `You create templates at the provider. [\`GET /templates\`](#operation-listTemplates) lists them with \`params\`: the values that each
one needs, in the shape of \`template.params\`. A list has the values of the body in the order of the placeholders. An object has the
values of all parts:

- \`body\`: list of texts. \`bodyNamed\`: texts by the names of the placeholders.
- \`headerText\`, or \`headerMediaUrl\` (a public URL), \`headerMediaId\` and \`headerFilename\`, or \`headerLocation\`.
- \`buttonParams\`: by the position of the button, from \`"0"\`: the end of a dynamic URL, the code of a copy-code button, or the payload of
a quick reply.
- \`cards\`: one object per card of a carousel, in order.

A missing or empty value is \`400\`, and the message names it. Values for parts that the template does not have are ignored. Values are
literal; with \`contact_fields: true\` beside them, \`{{contact.name|there}}\` is replaced by the name of the contact, or by the text after
the bar if it has none.

[\`POST /messages/check\`](#operation-checkMessage) checks a message and sends nothing.`,
    samples: [
      {
        title: 'A URL button and a body',
        language: 'json',
        code: `{
  "to": "+14155550100",
  "type": "template",
  "template": {
    "name": "order_update",
    "params": {
      "body": ["Ann", "A-1009"],
      "buttonParams": { "0": "A-1009" }
    }
  }
}`,
      },
      {
        title: 'Named values and an image',
        language: 'json',
        code: `{
  "to": "+14155550100",
  "type": "template",
  "template": {
    "name": "appointment",
    "params": {
      "bodyNamed": { "name": "Ann", "time": "9:30" },
      "headerMediaUrl": "https://shop.example/room.jpg"
    }
  }
}`,
      },
    ],
  },
  {
    id: 'did-it-send',
    title: 'Did it send?',
    text: `\`201\`: yes, the channel accepted the message. \`400\` to \`404\`, \`429\` and \`503\`: no. \`500\` or no response: repeat the request with
the same [\`Idempotency-Key\`](#idempotency); it never sends twice.

\`502\` \`platform_error\` has \`error.details\`: the \`outcome\`, the \`message_id\` (null if no message was stored) and the \`channel_code\`.

**A stored 502 is replayed.** A repeat with the same \`Idempotency-Key\` returns the same \`502\` for 24 hours, marked
\`Idempotent-Replayed: true\`, and sends nothing. To send the message again, use a new key, and only after \`rejected\` or \`unsent\`. A
\`502\` without a \`message_id\` is not stored.`,
    samples: [
      {
        title: '502 Bad Gateway',
        language: 'json',
        code: `{
  "error": {
    "code": "platform_error",
    "message": "131026: Message undeliverable",
    "details": {
      "outcome": "rejected",
      "message_id": "0199c1d2-9e40-7a63-88d4-7a0b1c2d3e4f",
      "channel_code": "131026"
    }
  }
}`,
      },
      {
        title: 'Handle the outcome',
        codes: {
          TypeScript: `try {
  await parley.messages.send(message, { idempotencyKey })
} catch (error) {
  if (!(error instanceof ParleyError)) throw error
  const { outcome, message_id } = error.details ?? {}
  if (outcome === 'unsent') await sendLaterWithNewKey(message)
  else if (outcome === 'unknown') await waitForStatusOf(message_id)
  else await giveUp(message, error.message)
}`,
          Python: `try:
    parley.messages.send(message, idempotency_key=key)
except ParleyError as error:
    details = error.details or {}
    if details.get('outcome') == 'unsent':
        send_later_with_new_key(message)
    elif details.get('outcome') == 'unknown':
        wait_for_status_of(details['message_id'])
    else:
        give_up(message, error.message)`,
        },
      },
    ],
    after: 'outcomes',
  },
  {
    id: 'rate-limits',
    title: 'Rate limits',
    text: `A key may make 120 requests per window of 60 seconds. The window starts with its first request. Every response to a valid key
reports the remaining requests.

Above the limit the response is \`429\` with \`Retry-After\`. Wait that many seconds and send the request again.

So one key sends at most two messages per second with \`POST /messages\`. To send more, use a
[broadcast](#operation-createBroadcast): one request for up to 1,000 numbers, each with values of its own, at the sending rate of your
number. Each key has its own window, so give each of your programs its own key.`,
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
- Rejected requests (400 to 404, 429) are not stored. Correct the request and send it again with the same key.
- A failed send (502) is stored. To send the message again, use a new key: [Did it send?](#did-it-send)`,
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
    after: 'vectors',
    side: 'receivers',
  },
]

/** The outcomes of a send that failed at the channel. */
export const outcomes: readonly (readonly [outcome: string, meaning: string, action: string])[] = [
  [
    'rejected',
    'The channel refused the message. Nothing was sent. The message is `failed`.',
    'Fix the reason, then send with a new key.',
  ],
  [
    'unsent',
    'Nothing reached the channel. The message is `failed` at once and does not count against the plan.',
    'Send again later with a new key.',
  ],
  [
    'unknown',
    'The channel may have sent it. The message is `pending` until a report settles it, and `failed` after 15 minutes without one.',
    'Do not send again. Wait for `message.status_updated`, or read `GET /messages/{id}`.',
  ],
]
