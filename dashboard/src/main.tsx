/** The entry point of the dashboard. */
import '../../ui/ui.css'
import './ui/ui.css'
import './ui/split.css'
import './shell/shell.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Router } from 'wouter'
import { Kit } from '../../ui/kit.tsx'
import { App } from './app.tsx'
import { describeError, queryClient } from './lib/api.ts'
import { navigateGuarded } from './lib/leave-guard.ts'
import { applyDensity } from './lib/preferences.ts'
import { applyTheme } from './lib/theme.ts'
import { words } from './words/words.ts'

applyTheme()
applyDensity()
const root = document.getElementById('root')
if (!root) throw new Error('index.html has no #root element')
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <Kit words={words.common} describeError={describeError}>
        <Router aroundNav={navigateGuarded}>
          <App />
        </Router>
      </Kit>
    </QueryClientProvider>
  </StrictMode>,
)
