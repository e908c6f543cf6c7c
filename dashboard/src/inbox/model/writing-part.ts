/** Where the member writes: the visible text box. In a closed reply window the button that chooses a template, else the reason. */
export const findWritingPart = (): HTMLElement | null =>
  document.querySelector(
    '.inbox-composer > div:not([hidden]) :is(.inbox-write > textarea, .inbox-closed > button, .inbox-closed:not(:has(> button)))',
  )
