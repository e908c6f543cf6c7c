#!/usr/bin/env node
/**
 * The operator's command line: `npx parley …`.
 *
 * Beside the answer nothing is printed, so that a script can read it.
 */
import { launch } from '../scripts/launch.js'

await launch('server/cli.ts', process.argv.slice(2), { quiet: true })
