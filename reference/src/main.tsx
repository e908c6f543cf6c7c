/** The API reference: guides, every operation of the OpenAPI document, and forms that call the API. */
import { createRoot } from 'react-dom/client'
import '../../ui/ui.css'
import { Kit } from '../../ui/kit.tsx'
import { Page } from './page.tsx'
import './reference.css'
import './navigation.css'
import './operation.css'
import './code.css'
import './narrow.css'
import { readStored, themeKey } from './storage.ts'

const words = {
  close: 'Close',
  dismiss: 'Dismiss',
  cancel: 'Cancel',
  undo: 'Undo',
  copy: 'Copy',
  copied: 'Copied',
  loading: 'Loading',
}

// Before the first render, so that the other theme does not flash.
const theme = readStored('localStorage', themeKey)
if (theme) document.documentElement.dataset.theme = theme

const root = document.getElementById('root')
if (root) {
  createRoot(root).render(
    <Kit words={words} describeError={String}>
      <Page />
    </Kit>,
  )
}
