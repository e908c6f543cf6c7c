/** Types that the helpers of the tests share. */

/** A test, or the whole file: owns databases, services and folders until it ends. */
export type Owner = { after(run: () => unknown): void; diagnostic(message: string): void; readonly passed?: boolean }

// biome-ignore lint/suspicious/noExplicitAny: a test reads answers as it finds them, and fails where they are not so.
export type Json = any
