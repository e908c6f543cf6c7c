#!/usr/bin/env node
/**
 * The entry point of `npx parley`. It runs on older versions of Node and before the dependencies are installed.
 *
 * It prints nothing itself, so that scripts can parse the output of a command.
 */
import { launch } from '../scripts/launch.js'

await launch('bin/parley.ts', process.argv.slice(2), { quiet: true })
