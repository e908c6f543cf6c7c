/** The automation tools and their icons, which are not their trademarks. */
import type { Endpoint } from '../webhooks/endpoint.tsx'

export type Tool = Exclude<Endpoint['provider'], 'api'>

export const tools = ['tool_a', 'tool_b'] as const satisfies readonly Tool[]

const logos: Record<Tool, string> = {
  tool_a: 'M12 3v18M4.2 7.5l15.6 9M19.8 7.5l-15.6 9',
  tool_b:
    'M6 8.5a2.5 2.5 0 1 0 0-.01M18 8.5a2.5 2.5 0 1 0 0-.01M12 18.5a2.5 2.5 0 1 0 0-.01M8.5 8.5h7M7.5 10.5l3.2 5.8M16.5 10.5l-3.2 5.8',
}

export function ToolLogo({ tool }: { tool: Tool }) {
  return (
    <span className="mark tools-mark" data-tool={tool} aria-hidden="true">
      <svg className="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
        <path d={logos[tool]} />
      </svg>
    </span>
  )
}
