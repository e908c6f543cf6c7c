/** What a page shows before its script or its data is loaded: gray shapes in the places of its parts. */
import './placeholder.css'
import { useKitWords } from '../../../ui/words.tsx'

const listOf = (count: number) => Array.from({ length: count }, (_, index) => index)
const bars = (count: number) => listOf(count).map((index) => <i key={index} />)

const Rows = ({ count }: { count: number }) => listOf(count).map((index) => <span key={index}>{bars(3)}</span>)

/** The parts of the page at this path. */
function Shape({ path }: { path: string }) {
  const section = path.split('/')[1] || 'inbox'
  if (section === 'inbox') {
    return (
      <div className="placeholder-inbox">
        <div>
          {listOf(9).map((index) => (
            <span key={index}>{bars(3)}</span>
          ))}
        </div>
        <div />
      </div>
    )
  }
  return (
    <div className="placeholder-page" data-settings={section === 'settings' ? '' : undefined}>
      {section === 'settings' && <div className="placeholder-menu">{bars(8)}</div>}
      <div className="placeholder-head">{bars(2)}</div>
      {section === 'overview' || section === 'reports' ? (
        <OverviewShape />
      ) : (
        <div className="card placeholder-rows">
          <Rows count={8} />
        </div>
      )}
    </div>
  )
}

const OverviewShape = () => (
  <>
    <div className="placeholder-tiles">
      {listOf(6).map((index) => (
        <div key={index} className="card">
          {bars(2)}
        </div>
      ))}
    </div>
    <div className="card placeholder-chart">{bars(1)}</div>
  </>
)

/** A whole page. */
export function PagePlaceholder({ path = location.pathname }: { path?: string }) {
  const { loading } = useKitWords()
  return (
    <div className="placeholder" role="status" aria-label={loading}>
      <Shape path={path} />
    </div>
  )
}

/** The tiles and the chart of the overview. */
export function OverviewPlaceholder() {
  const { loading } = useKitWords()
  return (
    <div className="placeholder stack" role="status" aria-label={loading}>
      <OverviewShape />
    </div>
  )
}

/** The rows of a table or list. */
export function RowsPlaceholder({ count = 6 }: { count?: number | undefined }) {
  const { loading } = useKitWords()
  return (
    <div className="placeholder placeholder-rows" role="status" aria-label={loading}>
      <Rows count={count} />
    </div>
  )
}
