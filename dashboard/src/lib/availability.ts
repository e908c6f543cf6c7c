/**
 * Availability of the signed-in member: the state, the choice, and the reports of input that keep the member available.
 *
 * Each tab reports input when it opens, and then at most once a minute. The service makes a member without input away, and the shared
 * stream of the tabs keeps the member online.
 */
import { useEffect } from 'react'
import { inputReportMs } from '../../../common/times.ts'
import type { IconName } from '../../../ui/icon.tsx'
import { words } from '../words/words.ts'
import { call, type DataOf, queryClient, useCall, useChange } from './api.ts'
import type { Command } from './palette.ts'
import { useCanWrite } from './session.tsx'

type Availability = DataOf<'GET /availability'>
export type Choice = 'available' | 'away'

export const choices = ['available', 'away'] as const
export const choiceIcons: Record<Choice, IconName> = { available: 'inbox', away: 'clock' }

const key = ['GET /availability', {}]
const store = (availability: Availability) => queryClient.setQueryData<Availability>(key, availability)

/** Undefined while it loads, and for viewers, who have none. */
export function useAvailability(): Availability | undefined {
  const canWrite = useCanWrite()
  return useCall('GET /availability', {}, { live: true, enabled: canWrite }).data
}

/** Returns the function that chooses a state. It stays until the next choice. */
export function useChooseAvailability(): (state: Choice) => void {
  const { mutate } = useChange('PUT /availability', {
    stale: ['GET /assignment/members', 'GET /assignment/teams'],
    done: ({ state }) => words.shell.availability.chosen[state],
    onDone: store,
    reportsError: true,
    inOrderFor: 'availability',
  })
  return (state) => mutate({ body: { state } })
}

/** The choices that change something, for the command palette. */
export function availabilityCommands(
  availability: Availability | undefined,
  choose: (state: Choice) => void,
): Command[] {
  if (!availability) return []
  return choices
    .filter((choice) => choice !== choiceOf(availability))
    .map((choice) => ({
      id: `availability-${choice}`,
      label: words.shell.availability.choose[choice],
      icon: choiceIcons[choice],
      run: () => choose(choice),
    }))
}

export const choiceOf = ({ is_chosen }: Availability): Choice => (is_chosen ? 'away' : 'available')

const inputEvents = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'] as const

/** Reports input in this page while it is open. */
export function useInputReports(): void {
  const canWrite = useCanWrite()
  useEffect(() => {
    if (!canWrite) return
    let reportedAt = Number.NEGATIVE_INFINITY
    const report = () => {
      const nowMs = performance.now()
      if (document.hidden || nowMs - reportedAt < inputReportMs) return
      reportedAt = nowMs
      // A lost report is repeated with the next input.
      call('POST /availability/input', {}).then(
        ({ data }) => store(data),
        () => {
          reportedAt = Number.NEGATIVE_INFINITY
        },
      )
    }
    report()
    for (const name of inputEvents) document.addEventListener(name, report, { passive: true, capture: true })
    document.addEventListener('visibilitychange', report)
    return () => {
      for (const name of inputEvents) document.removeEventListener(name, report, { capture: true })
      document.removeEventListener('visibilitychange', report)
    }
  }, [canWrite])
}
