/** A run of an automation: its steps on a time line, what started and ended it, and the answers. */
import { Link } from 'wouter'
import { Card, CopyButton } from '../../../ui/display.tsx'
import { isNotFound, useCall } from '../lib/api.ts'
import { formatSpan, formatTime } from '../lib/time.ts'
import { ItemNotFound } from '../shell/errors.tsx'
import { Facts } from '../ui/facts.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { automationWords } from '../words/automations.ts'
import { describeStart } from './describe.ts'
import { contactOf, EndBadge, type RunDetail } from './run-state.tsx'
import { TimeLine } from './time-line.tsx'

const { runs } = automationWords
const { page: text } = runs

export function RunPage({ id }: { id: string }) {
  const query = useCall('GET /automation-runs/{id}', { params: { id } }, { live: true })
  const run = query.data
  if (isNotFound(query.error)) return <ItemNotFound {...runs.notFound} href="/automations" />
  const back = run
    ? { href: `/automations/${run.automation_id}/runs`, label: text.back(run.automation_name) }
    : { href: '/automations', label: automationWords.back }
  return (
    <Page
      title={run ? text.title(contactOf(run)) : text.untitled}
      lead={run && <EndBadge run={run} />}
      back={back}
      actions={
        run?.conversation_id && (
          <LinkButton label={text.openConversation} icon="chat" href={`/inbox/${run.conversation_id}`} />
        )
      }
    >
      <QueryView query={query}>{(loaded) => <Content run={loaded} />}</QueryView>
    </Page>
  )
}

const Content = ({ run }: { run: RunDetail }) => (
  <div className="automations-run">
    <Card title={text.steps}>
      <TimeLine run={run} />
    </Card>
    <div className="stack">
      <Card title={text.about}>
        <About run={run} />
      </Card>
      <Card title={text.answers}>
        <Answers answers={run.answers} />
      </Card>
    </div>
  </div>
)

function About({ run }: { run: RunDetail }) {
  const { id, automation_id, automation_name, version, contact_id } = run
  const { definition, started_at, ended_at } = run
  const took = ended_at ? Date.parse(ended_at) - Date.parse(started_at) : undefined
  return (
    <Facts
      facts={{
        [text.automation]: (
          <>
            <Link href={`/automations/${automation_id}`}>{automation_name}</Link>{' '}
            <span className="soft small nowrap">{text.version(version)}</span>
          </>
        ),
        [text.contact]: <Link href={`/contacts/${contact_id}`}>{contactOf(run)}</Link>,
        [text.cause]: describeStart(definition),
        [text.started]: formatTime(started_at),
        [text.ended]: ended_at && formatTime(ended_at),
        [text.took]: took !== undefined && formatSpan(took),
        [text.id]: <CopyButton text={id} size="small" label={text.copyId} />,
      }}
    />
  )
}

/** What questions and calls have saved. */
function Answers({ answers }: { answers: Record<string, unknown> }) {
  const entries = Object.entries(answers)
  if (entries.length === 0) return <p className="soft">{text.noAnswers}</p>
  return <Facts facts={Object.fromEntries(entries.map(([name, value]) => [name, showAnswer(value)]))} />
}

/** A call saves an object. */
const showAnswer = (value: unknown) =>
  typeof value === 'object' && value !== null ? (
    <pre className="automations-json small">{JSON.stringify(value, null, 2)}</pre>
  ) : (
    <bdi>{String(value)}</bdi>
  )
