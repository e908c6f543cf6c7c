/** The entry point of the phone page. */
import '../../../ui/ui.css'
import './page.css'
import './handset.css'
import './message.css'
import './taps.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Kit } from '../../../ui/kit.tsx'
import { App } from './app.tsx'

const words = {
  close: 'Close',
  dismiss: 'Dismiss',
  cancel: 'Cancel',
  undo: 'Undo',
  copy: 'Copy',
  copied: 'Copied',
  loading: 'Loading…',
}

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no #root element')
createRoot(root).render(
  <StrictMode>
    <Kit words={words} describeError={(error) => (error instanceof Error ? error.message : String(error))}>
      <App />
    </Kit>
  </StrictMode>,
)
