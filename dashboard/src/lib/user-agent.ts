/**
 * Parses the browser and operating system from a user agent. Browsers include each other's names, so specific patterns come
 * before general ones. Unknown parts are undefined.
 */
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?(?:iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|HeadlessChrome|Chromium)\//, 'Chrome'],
  [/\bVersion\/.*\bSafari\//, 'Safari'],
  [/\bcurl\//, 'curl'],
]

const systems: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMacintosh\b|\bMac OS X\b/, 'macOS'],
  [/\bLinux\b|\bX11\b/, 'Linux'],
]

export type Device = { browser: string | undefined; system: string | undefined; isPhone: boolean }

export function readUserAgent(text: string): Device {
  const find = (patterns: typeof browsers) => patterns.find(([pattern]) => pattern.test(text))?.[1]
  const system = find(systems)
  return { browser: find(browsers), system, isPhone: /\b(?:Mobile|iPhone)\b/.test(text) && system !== 'iPad' }
}
