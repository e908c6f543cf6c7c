/** `npm run -s openapi`: prints the OpenAPI document without its prose, as `docs/releases` keeps it for each release. */
import { describeService } from './describe-service.ts'

const prose = new Set(['description', 'summary', 'example', 'examples', 'headers', 'tags'])

/** Removes the prose of a schema or operation. A field can have the name of a keyword. */
function withoutProse(value: unknown, areFields = false): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutProse(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, part]) =>
      !areFields && prose.has(key) ? [] : [[key, withoutProse(part, key === 'properties' && !areFields)]],
    ),
  )
}

const { document } = await describeService()
const { openapi, info, paths, webhooks, components } = JSON.parse(JSON.stringify(document))
const kept = { openapi, info: { title: info.title, version: info.version } }
const api = withoutProse({ paths, webhooks, components: { schemas: components.schemas } }) as object
console.log(JSON.stringify({ ...kept, ...api }, null, 2))
