/** The guides above the operations: their texts (`guide-texts.ts`), samples and tables. */
import { Fragment, type ReactNode, useEffect, useId, useState } from 'react'
import { CopyButton } from '../../ui/display.tsx'
import { Anchor, CodeCard, Inline, LanguageCard, Prose, StatusBadge, Tabs } from './code.tsx'
import { errorMeanings } from './errors.ts'
import { guides, outcomes, type Sample } from './guide-texts.ts'
import type { ApiDocument, Operation } from './openapi.ts'
import { samples as languages } from './samples.ts'
import { vectors } from './webhook-vectors.ts'

type GuidesProps = { document: ApiDocument | undefined; operations: Operation[]; baseUrl: string }
export const Guides = (props: GuidesProps) => (
  <>
    <Introduction {...props} />
    {guides.slice(1).map(({ id, title, text, samples, after, side }) => (
      <section className="guide" id={id} key={id}>
        <div className="text">
          <h2>
            {title}
            <Anchor id={id} label={title} />
          </h2>
          <Prose text={text} />
          {after === 'scopes' && <ScopeTable {...props} />}
          {after === 'errors' && <ErrorTable {...props} />}
          {after === 'outcomes' && <OutcomeTable />}
          {after === 'vectors' && <VectorTable />}
        </div>
        <div className="side">
          <Samples samples={samples} baseUrl={props.baseUrl} />
          {side === 'receivers' && <Receivers />}
        </div>
      </section>
    ))}
  </>
)

function Samples({ samples, baseUrl }: { samples: Sample[]; baseUrl: string }) {
  const fill = (code: string) =>
    code.replaceAll('{base_url}', baseUrl).replaceAll('{service}', baseUrl.replace(/\/v1$/, ''))
  return samples.map((sample) =>
    'code' in sample ? (
      <CodeCard
        key={sample.title}
        head={sample.title}
        label={sample.title}
        code={fill(sample.code)}
        language={sample.language}
      />
    ) : (
      <LanguageCard
        key={sample.title}
        label={sample.title}
        languages={Object.entries(sample.codes).map(([name, code]) => ({
          name,
          language: languages[name]?.language ?? '',
          write: () => fill(code),
        }))}
      />
    ),
  )
}

const startLinks = [
  ['first-message', 'Send your first message', 'In three steps, with an SDK or curl'],
  ['sdks', 'Install an SDK', 'TypeScript, Python, and commands'],
  ['did-it-send', 'Did it send?', 'When a message may be sent again'],
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
                    <code>
                      {method}{' '}
                      {path.split(/(?=\/)/).map((part, index) => (
                        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a path keep their places.
                        <Fragment key={index}>
                          <wbr />
                          {part}
                        </Fragment>
                      ))}
                    </code>
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
          id: `error-${code}`,
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

const OutcomeTable = () => (
  <Table
    heads={['Outcome', 'Meaning', 'What to do']}
    rows={outcomes.map(([outcome, meaning, action]) => ({
      key: outcome,
      cells: [
        <code key="outcome">{outcome}</code>,
        <Inline key="meaning" text={meaning} />,
        <Inline key="action" text={action} />,
      ],
    }))}
  />
)

function VectorTable() {
  const rows = vectors.map((vector) => ({
    key: vector[1],
    cells: vector.map((text) => <code key={text}>{text}</code>),
  }))
  return <Table heads={['Body', 'v1']} rows={rows} />
}

type TableProps = { heads: string[]; rows: { key: string; id?: string; cells: ReactNode[] }[] }

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
        {rows.map(({ key, id, cells }) => (
          <tr key={key} id={id}>
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
