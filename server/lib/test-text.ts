/** Test data: texts of any code points, also of halves of surrogate pairs. */
import fc from 'fast-check'

/** As `unit: 'binary'` of `fc.string`, which prepares a map of all code points when it is called: that takes a second. */
export const codePoint: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: 0x10ffff })
  .map((point) => String.fromCodePoint(point))
