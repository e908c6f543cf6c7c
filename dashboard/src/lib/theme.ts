/** Light, dark, or as the system has it. Kept in this browser. */
export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const place = 'parley-theme'

export function readTheme(): Theme {
  return themes.find((theme) => theme === localStorage.getItem(place)) ?? 'system'
}

export function setTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(place)
  else localStorage.setItem(place, theme)
  applyTheme()
}

export function applyTheme(): void {
  const theme = readTheme()
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}
