/**
 * Fails on words that the project's plain English rules out (CONTRIBUTING.md, Language), and in documents and the texts of the
 * dashboard on other spellings than those of the project.
 *
 * `node scripts/language.ts [folder or file …]` lists every hit. Without arguments it reads the whole repository.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Each pattern with the words to use instead. */
const ruledOut: readonly [RegExp, string][] = [
  [/\bwho(?:m|se)?ever\b/i, 'name the actor: the caller, the worker, the member'],
  // The quoted word alone is the system user `nobody`.
  [
    /(?<![`'](?=nobody[`':]))(?<!(?:assigned|team)=)\b(?:some|no|every)body(?:'s)?\b/i,
    'name the actor: the contact, all recipients',
  ],
  [/\bthose who\b/i, 'name the actors'],
  [/\bunder ?way\b/i, 'in flight, running'],
  [/\bmend(?:s|ed|ing)?\b/i, 'fix'],
  [/\bwhat (?:came|comes|became|becomes|has become|will become) of\b/i, 'outcome, result'],
  [/\bthe line (?:is|was|broke|breaks)\b|\b(?:broken|lost|open) line\b/i, 'the connection'],
  [/\b(?:tell|tells|told|telling)\b/i, 'notify, report, inform, distinguish'],
  [/\b(?:hear|hears|heard)\b/i, 'receive, listen'],
  [/\blook(?:s|ed|ing)? again\b|\blookout\b/i, 'poll, check, re-run'],
  [/\b(?:give|gives|gave|given|giving) back\b/i, 'release, return'],
  [/\b(?:put|puts|putting) back\b|\bputBack\b/i, 'requeue, restore'],
  [/\b(?:leave|leaves|left|leaving) out\b/i, 'skip, omit'],
  [/\b(?:let|lets|letting) in\b/i, 'admit, allow'],
  [/\bpatience\w*/i, 'timeout'],
  [/\bdeeds?\b/i, 'action'],
  [/\b(?:of|for) want of\b/i, 'because there is no'],
  [/\bthe very\b/i, 'the same, exactly the'],
  [/\bhow(?:so)?ever it\b/i, 'name the cases'],
]

/** One spelling and one term for what users read. Code has names of its own, such as the pace of a number. */
const spellings: readonly [RegExp, string][] = [
  [/\be-mail(?:s|ed|ing)?\b/i, 'email'],
  [/\bcolou(?:r|rs|red)\b/i, 'color'],
  [/\bwrite-ahead log\b/i, 'WAL'],
  [/\bpace of (?:the|your|a|its) number\b|\bnumber's pace\b|\bfull pace\b|\bsending pace\b/i, 'sending rate'],
  [/\bbackground engines?\b|\bengine process(?:es)?\b/i, 'worker'],
]
const isForUsers = /\.md$|^dashboard\/src\/words\//

/** Texts of people in the demo, third-party wire formats, and the files that list the words. */
const exempt =
  /^(scripts\/language\.ts|CONTRIBUTING\.md|server\/demo\/texts\.ts|.*\/fixtures\/|package-lock\.json|LICENSE$|migrations\/|bench\/RESULTS\.md)/
const readable = /\.(ts|tsx|js|mjs|py|toml|css|html|md|sql|json|yml|yaml)$|^\.env\.example$|^\.ci\//

const paths = process.argv.slice(2)
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...paths], {
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => readable.test(file) && !exempt.test(file))

let count = 0
for (const file of files) {
  const lines = readFileSync(file, 'utf8').split('\n')
  lines.forEach((line, i) => {
    for (const [pattern, instead] of isForUsers.test(file) ? [...ruledOut, ...spellings] : ruledOut) {
      const [found] = pattern.exec(line) ?? []
      if (!found) continue
      count++
      console.error(`${file}:${i + 1}: "${found}" (${instead})`)
    }
  })
}
if (count > 0) {
  console.error(`\n${count} ruled-out words.`)
  process.exit(1)
}
