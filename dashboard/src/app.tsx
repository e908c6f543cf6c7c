/** The routes of the dashboard and the sign-in check. The script of each page loads when the page is first opened. */
import { type ComponentType, lazy, Suspense, useEffect } from 'react'
import { Redirect, Route, Switch, useLocation } from 'wouter'
import { Skeleton } from '../../ui/display.tsx'
import { CallError, invalidate, queryClient, useCall } from './lib/api.ts'
import { LiveUpdates } from './lib/live.tsx'
import { SessionProvider } from './lib/session.tsx'
import { ErrorBoundary, NotFound, Offline, PageLoadError } from './shell/errors.tsx'
import { Shell, ShellFrame } from './shell/shell.tsx'
import { QueryState } from './ui/page.tsx'
import { PagePlaceholder } from './ui/placeholder.tsx'

type Page = { default: ComponentType }
const page = (load: () => Promise<Page>) =>
  lazy(() =>
    load().catch((cause: unknown) => {
      throw new PageLoadError('the script of the page did not load', { cause })
    }),
  )

const SignIn = page(() => import('./sign-in/sign-in.tsx'))
const Setup = page(() => import('./sign-in/setup.tsx'))
const ForgotPassword = page(() => import('./sign-in/forgot-password.tsx'))
const NewPassword = page(() => import('./sign-in/new-password.tsx'))
const RequiredSecondFactor = lazy(() => import('./sign-in/required-second-factor.tsx'))
const Invitation = page(() => import('./sign-in/invitation.tsx'))

/** Each page owns all paths below its own. The service must serve the application for all of them. */
const scripts: Record<string, () => Promise<Page>> = {
  '/inbox': () => import('./inbox/inbox.tsx'),
  '/overview': () => import('./overview/overview.tsx'),
  '/reports': () => import('./reports/reports.tsx'),
  '/contacts': () => import('./contacts/contacts.tsx'),
  '/segments': () => import('./segments/segments.tsx'),
  '/broadcasts': () => import('./broadcasts/broadcasts.tsx'),
  '/automations': () => import('./automations/automations.tsx'),
  '/templates': () => import('./templates/templates.tsx'),
  '/webhooks': () => import('./webhooks/webhooks.tsx'),
  '/developers': () => import('./developers/developers.tsx'),
  '/integrations': () => import('./integrations/integrations.tsx'),
  '/settings': () => import('./settings/settings.tsx'),
}
const pages = Object.entries(scripts).map(([path, load]) => ({ path, Page: page(load) }))

// The script of the page loads while the service checks the session. If it fails, the page loads it again and reports the error.
scripts[`/${location.pathname.split('/')[1]}`]?.().catch(() => {})

export function App() {
  return (
    <ErrorBoundary>
      <Suspense fallback={<Skeleton late />}>
        <Switch>
          <Route path="/sign-in" component={SignIn} />
          <Route path="/setup" component={Setup} />
          <Route path="/invitations/:token" component={Invitation} />
          <Route path="/forgot-password" component={ForgotPassword} />
          <Route path="/password-resets/:token" component={NewPassword} />
          <Route>
            <SignedIn />
          </Route>
        </Switch>
      </Suspense>
    </ErrorBoundary>
  )
}

/** Whether a member was signed in before: then the frame of the pages shows before the session is known. */
const signedInKey = 'parley-signed-in'

/** Redirects to the sign-in page, which returns to the requested path after sign-in. */
function SignedIn() {
  const [path] = useLocation()
  const session = useCall('GET /session', {})
  const isSignedOut = session.error instanceof CallError && session.error.status === 401
  const isSignedIn = session.data !== undefined
  useEffect(() => {
    if (isSignedOut) localStorage.removeItem(signedInKey)
    else if (isSignedIn) localStorage.setItem(signedInKey, 'true')
  }, [isSignedOut, isSignedIn])
  if (isSignedOut) {
    const to = path === '/' ? '' : `?to=${encodeURIComponent(path + location.search)}`
    return <Redirect to={`/sign-in${to}`} replace />
  }
  if (!session.data && (session.isPaused || session.failureReason instanceof TypeError)) {
    return <Offline onRetry={() => void session.refetch()} />
  }
  if (session.error && !session.data) return <QueryState query={session} />
  if (!session.data) return localStorage.getItem(signedInKey) ? <ShellFrame /> : <Skeleton late />
  if (session.data.second_factor_due) return <RequiredSecondFactor session={session.data} />
  return (
    <SessionProvider session={session.data}>
      <LiveUpdates>
        <Shell>
          <ErrorBoundary key={path.split('/')[1]}>
            <Suspense fallback={<PagePlaceholder path={path} />}>
              <Switch>
                <Route path="/">
                  <Redirect to="/inbox" replace />
                </Route>
                {pages.map(({ path, Page }) => (
                  <Route key={path} path={`${path}/*?`}>
                    <Page />
                  </Route>
                ))}
                <Route component={NotFound} />
              </Switch>
            </Suspense>
          </ErrorBoundary>
        </Shell>
      </LiveUpdates>
    </SessionProvider>
  )
}

// A session that ended elsewhere shows as a 401 of any query. Checking the session then leads to the sign-in page, or to the setup
// of a second factor.
queryClient.getQueryCache().subscribe(({ query }) => {
  const { error } = query.state
  if (!(error instanceof CallError) || query.queryKey[0] === 'GET /session') return
  if (error.status === 401 || error.details.second_factor === 'setup_required') {
    void invalidate({ queryKey: ['GET /session'] })
  }
})
