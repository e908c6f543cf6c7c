/**
 * A lazy, paginated list.
 *
 * `await` returns one page; `for await` iterates over all items of all pages. No request is sent before, and every `await` and
 * every loop requests the list again. Items that are added between two pages cause neither duplicates nor gaps.
 */

export type Page<Item> = {
  data: Item[]
  /** Pass it as `cursor` to get the next page. Null on the last page. */
  next_cursor: string | null
}

type FetchPage<Item> = (cursor: string | undefined) => Promise<Page<Item>>

export class Listing<Item> implements PromiseLike<Page<Item>>, AsyncIterable<Item> {
  readonly #fetchPage: FetchPage<Item>

  constructor(fetchPage: FetchPage<Item>) {
    this.#fetchPage = fetchPage
  }

  /** Called by `await`: returns the page at the query's `cursor`, or the first page. */
  // biome-ignore lint/suspicious/noThenProperty: a listing is awaitable by design.
  then<Result = Page<Item>, Failure = never>(
    onPage?: ((page: Page<Item>) => Result | PromiseLike<Result>) | null,
    onError?: ((error: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Result | Failure> {
    return this.#fetchPage(undefined).then(onPage, onError)
  }

  /** Iterates over pages. */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    let cursor: string | undefined
    do {
      const page = await this.#fetchPage(cursor)
      yield page
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined)
  }

  /** Iterates over the items of all pages. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const { data } of this.pages()) yield* data
  }
}

/** Where a synchronisation continues: a value to store, and to pass to the next call. */
export type ChangePosition = {
  updated_after: string
  /** Present if the page was not the last one. */
  cursor?: string | undefined
}

export type ChangePage<Item> = {
  data: Item[]
  /** Continues after this page. */
  position: ChangePosition
}

/** Iterates over pages of changes, oldest change first, and ends with the last change. No change is skipped. */
export async function* changePages<Item extends { updated_at: string }>(
  start: ChangePosition,
  list: (position: ChangePosition) => PromiseLike<Page<Item>>,
): AsyncGenerator<ChangePage<Item>, void, undefined> {
  let position = start
  for (;;) {
    const { data, next_cursor } = await list(position)
    position = next_cursor
      ? { updated_after: position.updated_after, cursor: next_cursor }
      : { updated_after: data.at(-1)?.updated_at ?? position.updated_after }
    yield { data, position }
    if (!next_cursor) return
  }
}
