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
