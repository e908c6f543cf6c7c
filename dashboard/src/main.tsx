/** The dashboard: the first thing the browser runs. */
import './ui/tokens.css'
import './ui/ui.css'
import './shell/shell.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { queries } from './lib/api.ts'
import { applyTheme } from './lib/theme.ts'
import { Toasts } from './ui/toast.tsx'

applyTheme()
const root = document.getElementById('root')
if (!root) throw new Error('the page has no root')
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <Toasts>
        <App />
      </Toasts>
    </QueryClientProvider>
  </StrictMode>,
)
