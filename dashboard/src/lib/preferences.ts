/** The member's preferences, the same on all devices. The density is also kept in this browser, for the first paint. */
import { useIsMutating } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useToast } from '../../../ui/overlays.tsx'
import { type DataOf, queryClient, useCall, useChange } from './api.ts'
import { createStore } from './store.ts'

export type Preferences = DataOf<'GET /preferences'>

const densityKey = 'parley-density'

const key = ['GET /preferences', {}]

const changeCount = createStore(() => 0)
const getPreferences = () => queryClient.getQueryData<Preferences>(key)

export function usePreferences() {
  // An answer from before a change would show the old value for a moment.
  const isChanging = useIsMutating() > 0
  const { data, error, refetch } = useCall('GET /preferences', {}, { live: isChanging ? false : 'member' })
  // The cache publishes a change in a later task. React would reset the input that the member changed until then.
  return { data: changeCount.useValue(getPreferences) ?? data, error, refetch }
}

/** Returns a function that changes preferences. They change at once, and back if the service refuses. */
export function useChangePreferences(): (changes: Partial<Preferences>) => void {
  const toast = useToast()
  const reload = () => {
    // The last of several changes reloads.
    if (queryClient.isMutating() <= 1) void queryClient.invalidateQueries({ queryKey: key })
  }
  const { mutate } = useChange('PATCH /preferences', {
    inOrderFor: 'preferences',
    onDone: reload,
    onFailed: (error) => {
      toast.error(error)
      reload()
    },
  })
  return (changes) => {
    void queryClient.cancelQueries({ queryKey: key })
    queryClient.setQueryData<Preferences>(key, (preferences) => preferences && { ...preferences, ...changes })
    changeCount.set(changeCount.get() + 1)
    mutate({ body: changes })
  }
}

/** Sets `data-density` of the root element, which `tokens.css` reads. */
export function applyDensity(density = localStorage.getItem(densityKey)): void {
  if (density === 'comfortable') document.documentElement.dataset.density = density
  else delete document.documentElement.dataset.density
}

/** Applies the member's density, and keeps it for the next start. */
export function useDensity(): void {
  const density = usePreferences().data?.density
  useEffect(() => {
    if (!density) return
    localStorage.setItem(densityKey, density)
    applyDensity(density)
  }, [density])
}
