/** One operation: description and schemas on the left; code samples, the form and example responses on the right. */
import { type ReactNode, useId, useLayoutEffect, useRef, useState } from 'react'
import { CopyButton } from '../../ui/display.tsx'
import { Anchor, CodeCard, Disclosure, Inline, LanguageCard, MethodBadge, Prose, StatusBadge, Tabs } from './code.tsx'
import { FieldRow, FieldTree } from './fields.tsx'
import { contentOf, type Operation, type WebhookEvent } from './openapi.ts'
import { createRequest, type Draft, prettyJson, type SampleRequest, samples } from './samples.ts'
import type { Schema, Schemas } from './schema.ts'
import { TryForm } from './try.tsx'

/** `baseUrl` is shown in samples. `tryUrl` has this page's origin, because the document may name the address of a proxy. */
export type Api = { schemas: Schemas; baseUrl: string; tryUrl: string }
type OperationProps = { operation: Operation; api: Api }

export function OperationSection({ operation, api }: OperationProps) {
  const { id, summary, description, body } = operation
  const [draft, setDraft] = useState<Draft>({ values: {}, body: body && prettyJson(operation.example) })
  return (
    <section className="operation" id={id} aria-labelledby={`${id}-title`}>
      <div className="text">
        <h3 id={`${id}-title`}>
          {summary}
          <Anchor id={id} label={summary} />
        </h3>
        <Endpoint operation={operation} api={api} />
        <div className="prose">
          <Prose text={description} />
        </div>
        <Parameters operation={operation} api={api} />
        {body && (
          <div className="part">
            <h4>Request body</h4>
            <FieldTree schemas={api.schemas} schema={body} direction="request" />
          </div>
        )}
        <Responses operation={operation} api={api} />
      </div>
      <StickySide>
        <div className="request">
          <h4 className="offscreen">Request</h4>
          <RequestSample request={createRequest(operation, draft, api.baseUrl)} />
          <Disclosure className="try" head="Try it">
            {() => (
              <TryForm
                operation={operation}
                schemas={api.schemas}
                draft={draft}
                onChange={setDraft}
                request={createRequest(operation, draft, api.tryUrl)}
              />
            )}
          </Disclosure>
        </div>
        <ExampleResponses operation={operation} />
      </StickySide>
    </section>
  )
}

export function EventSection({ event, schemas }: { event: WebhookEvent; schemas: Schemas }) {
  const { id, name, description, body, example } = event
  return (
    <section className="event" id={id} aria-labelledby={`${id}-title`}>
      <div className="text">
        <h3 id={`${id}-title`}>
          <code>{name}</code>
          <Anchor id={id} label={name} />
        </h3>
        <div className="prose">
          <Prose text={description} />
        </div>
        {body && (
          <div className="part">
            <h4>Payload</h4>
            <FieldTree schemas={schemas} schema={body} direction="response" />
          </div>
        )}
      </div>
      <StickySide>
        <CodeCard head="Example payload" label="Example payload" code={prettyJson(example)} language="json" />
      </StickySide>
    </section>
  )
}

/** Stays in view beside its text. A column that is taller than the window sticks by its end, so that all of it can be reached. */
function StickySide({ children }: { children: ReactNode }) {
  const side = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const element = side.current
    if (!element) return
    const fit = () => element.style.setProperty('--end', `${Math.floor(innerHeight - element.offsetHeight - 24)}px`)
    const observer = new ResizeObserver(fit)
    observer.observe(element)
    addEventListener('resize', fit)
    return () => {
      observer.disconnect()
      removeEventListener('resize', fit)
    }
  }, [])
  return (
    <div className="side">
      <div className="sticky" ref={side}>
        {children}
      </div>
    </div>
  )
}

const Endpoint = ({ operation: { method, path, scope }, api: { baseUrl } }: OperationProps) => (
  <div className="endpoint">
    <div className="endpoint-path">
      <MethodBadge method={method} />
      <code>{path.split(/(\{\w+\})/).map((part) => (part.startsWith('{') ? <em key={part}>{part}</em> : part))}</code>
      <CopyButton text={baseUrl + path} size="small" />
    </div>
    <a className="scope" href="#authentication">
      {scope ? (
        <>
          Scope <code>{scope}</code>
        </>
      ) : (
        'No scope required'
      )}
    </a>
  </div>
)

const parameterTitles = { path: 'Path parameters', query: 'Query parameters', header: 'Headers' }

const Parameters = ({ operation, api: { schemas } }: OperationProps) =>
  Object.entries(parameterTitles).map(([location, title]) => {
    const parameters = operation.parameters.filter((parameter) => parameter.in === location)
    return (
      parameters.length > 0 && (
        <div className="part" key={location}>
          <h4>{title}</h4>
          <ul className="fields">
            {parameters.map(({ name, schema, required = false, description }) => (
              <FieldRow
                key={name}
                schemas={schemas}
                field={{ name, schema: describe(schema, description), required }}
                direction="request"
              />
            ))}
          </ul>
        </div>
      )
    )
  })

/** Query values are text, even if their schema sets no type. */
const describe = (schema: Schema, description: string | undefined): Schema => ({
  ...(Object.keys(schema).length > 0 ? schema : { type: 'string' }),
  ...(description ? { description } : {}),
})

const Responses = ({ operation: { responses }, api: { schemas } }: OperationProps) => (
  <div className="part">
    <h4>Responses</h4>
    {Object.entries(responses).map(([status, { description = '', headers, content }], index) => {
      const schema = contentOf(content)?.schema
      return (
        <Disclosure
          key={status}
          className="response"
          isInitiallyOpen={index === 0}
          head={
            <>
              <StatusBadge status={Number(status)} />
              <span className="response-description">
                <Inline text={description} />
              </span>
            </>
          }
        >
          {() => (
            <>
              {schema && <FieldTree schemas={schemas} schema={schema} direction="response" />}
              {headers && (
                <Disclosure className="inside" head={`${Object.keys(headers).length} headers`}>
                  {() => (
                    <ul className="fields">
                      {Object.entries(headers).map(([name, header]) => (
                        <FieldRow
                          key={name}
                          schemas={schemas}
                          field={{ name, schema: describe(header.schema, header.description), required: true }}
                          direction="response"
                        />
                      ))}
                    </ul>
                  )}
                </Disclosure>
              )}
            </>
          )}
        </Disclosure>
      )
    })}
  </div>
)

const RequestSample = ({ request }: { request: SampleRequest }) => (
  <LanguageCard
    label="Request"
    languages={Object.entries(samples).map(([name, { language, write }]) => ({
      name,
      language,
      write: () => write(request),
    }))}
  />
)

function ExampleResponses({ operation: { responses, isStream } }: { operation: Operation }) {
  const panelId = useId()
  const statuses = Object.keys(responses)
  const [selected, setSelected] = useState(statuses[0] ?? '')
  const example = contentOf(responses[selected]?.content)?.example
  const isEvent = isStream && selected === '200'
  return (
    <div className="answers">
      <h4>Example response</h4>
      <CodeCard
        head={<Tabs label="Status" names={statuses} selected={selected} panelId={panelId} onSelect={setSelected} />}
        label="Example response"
        code={isEvent ? toEventText(example) : prettyJson(example)}
        language={isEvent ? 'text' : 'json'}
        panelId={panelId}
      />
    </div>
  )
}

/** An event in the format of server-sent events. */
function toEventText(example: unknown): string {
  const { id, event } = Object(example)
  return [`id: ${id}`, `event: ${event}`, `data: ${JSON.stringify(example)}`].join('\n')
}
