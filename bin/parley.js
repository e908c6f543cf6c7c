#!/usr/bin/env node
/**
 * The command line of operators and integrators: `npx parley …`.
 *
 * Beside the answer nothing is printed, so that a script can read it.
 */
import { launch } from '../scripts/launch.js'

await launch('cli/main.ts', process.argv.slice(2), { quiet: true })
