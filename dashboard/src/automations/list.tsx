/** The list of automations, in the order in which they are tried. */
import { Link } from 'wouter'
import { EmptyState } from '../../../ui/display.tsx'
import { useCall } from '../lib/api.ts'
import { Page, QueryView } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'
import { automationWords as text } from '../words/automations.ts'
import { StateBadge } from './automation.tsx'

export function AutomationList() {
  const query = useCall('GET /automations', {}, { live: true })
  return (
    <Page title={text.title} lead={text.lead}>
      <QueryView query={query}>
        {(automations) =>
          automations.length === 0 ? (
            <EmptyState icon="automations" title={text.empty} />
          ) : (
            <div className="card">
              <Table
                isLinked
                rows={automations}
                keyOf={({ id }) => id}
                columns={[
                  {
                    label: text.columns.name,
                    cell: ({ id, name }) => (
                      <Link className="row-link" href={`/automations/${id}`}>
                        {name}
                      </Link>
                    ),
                  },
                  { label: text.columns.state, narrow: 'status', cell: ({ state }) => <StateBadge state={state} /> },
                ]}
              />
            </div>
          )
        }
      </QueryView>
    </Page>
  )
}
