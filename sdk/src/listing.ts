/**
 * A list of the API, asked for when somebody wants to see it.
 *
 * `await` it for one page, or go through all items of all pages with
 * `for await`. Nothing is sent before; every await and every loop asks anew.
 * The service never shows an item twice or leaves one out when others are
 * added between two pages.
 */

export type Page<Item> = {
  data: Item[]
  /** Give it back as `cursor` for the page after this one; null on the last. */
  next_cursor: string | null
}

type Ask<Item> = (cursor: string | undefined) => Promise<Page<Item>>

export class Listing<Item> implements PromiseLike<Page<Item>>, AsyncIterable<Item> {
  readonly #ask: Ask<Item>

  constructor(ask: Ask<Item>) {
    this.#ask = ask
  }

  /** What `await` calls: the page at `cursor`, or the first. */
  // biome-ignore lint/suspicious/noThenProperty: to be awaited is what it is for.
  then<Result = Page<Item>, Refused = never>(
    onPage?: ((page: Page<Item>) => Result | PromiseLike<Result>) | null,
    onError?: ((error: unknown) => Refused | PromiseLike<Refused>) | null,
  ): Promise<Result | Refused> {
    return this.#ask(undefined).then(onPage, onError)
  }

  /** Page after page. */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    let cursor: string | undefined
    do {
      const page = await this.#ask(cursor)
      yield page
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined)
  }

  /** Every item of every page. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const { data } of this.pages()) yield* data
  }
}
