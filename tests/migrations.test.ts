/** Rules of migrations: released ones stay as they are, and new ones do not stop an installation that is in use. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkMigration, type Migration, tablesOf } from './migration-rules.ts'

type Release = { version: string; last_migration: string; migrations_sha256: string }

const folder = join(import.meta.dirname, '../migrations')
const releases: Release[] = JSON.parse(readFileSync(join(folder, 'releases.json'), 'utf8'))
const migrations: Migration[] = readdirSync(folder)
  .filter((name) => name.endsWith('.sql'))
  .sort()
  .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }))
const last = releases.at(-1)?.last_migration ?? ''
const released = tablesOf(migrations.filter(({ name }) => name <= last))
const versions = releases.map(({ version }) => version)

test('the migrations of a release never change', () => {
  for (const { version, last_migration, migrations_sha256 } of releases) {
    const hash = createHash('sha256')
    for (const { name, text } of migrations.filter((one) => one.name <= last_migration)) hash.update(`${name}\n${text}`)
    assert.equal(
      hash.digest('hex'),
      migrations_sha256,
      `release ${version} has other migrations; add a new one instead`,
    )
  }
})

test('migrations since the last release hold no lock for long, can run again, and suit the previous code', () => {
  const found = migrations.filter(({ name }) => name > last).flatMap((one) => checkMigration(one, released, versions))
  assert.deepEqual(found, [])
})

/** Statements, each with a part of the sentence that refuses it. */
const refused: Record<string, string> = {
  'create index messages_by_day on messages (created_at);': 'use `create index concurrently',
  'create unique index concurrently if not exists x on messages (id);': 'begin the file with',
  'drop index messages_by_id;': 'use `drop index concurrently',
  'alter table messages add constraint c check (status is not null);': 'as `not valid`',
  'alter table conversations alter column status set not null;': 'use a check constraint',
  'alter table messages alter column error type varchar(10);': 'rewrites the table',
  'alter table contacts add column seen_at timestamptz not null default clock_timestamp();': 'no constant default',
  'alter table contacts add column owner_id uuid references members (id);': 'add the column first',
  "update contacts set company = 'none' where company is null;": 'in batches that commit',
  "with old as (select 1) delete from messages where status = 'failed';": 'in batches that commit',
  'truncate webhook_events;': 'against all reads and writes',
  'alter table messages rename column error to reason;': 'the previous release may use it',
  'drop table early_reports;': 'the previous release may use it',
  '-- Unused since release 9.9.9.\nalter table messages drop column error;': 'the previous release may use it',
  '-- Runs without a transaction.\nalter table messages add column extra jsonb;': 'the whole file runs again',
  '-- Runs without a transaction.\ncreate table extras (id uuid);': 'the whole file runs again',
  'alter table messages add column a int;\nalter table contacts add column b int;\nalter table media add column c int;':
    'at the same time',
}

const accepted = [
  "alter table contacts add column attributes jsonb not null default '{}';",
  'alter table members alter column name set not null;',
  'create table extras (id uuid primary key);\ncreate index extras_by_id on extras (id);',
  'alter table messages add constraint c check (status is not null) not valid;',
  '-- Runs without a transaction.\ncreate index concurrently if not exists x on messages (id);\n\ndrop index concurrently if exists y;',
  '-- Runs without a transaction.\ndo $$ begin loop update contacts set name = name where id in (select id from contacts limit 500); commit; end loop; end $$;',
  'create function f() returns trigger language plpgsql as $$ begin update messages set id = id; return null; end $$;',
  '-- Unused since release 0.1.0.\nalter table messages drop column error;',
]

test('statements that lock a large table for long are refused with a sentence, and others are not', () => {
  const check = (text: string) => checkMigration({ name: '9999_new.sql', text }, released, versions).join('\n')
  for (const [text, reason] of Object.entries(refused)) {
    assert.ok(check(text).includes(reason), `${text}\n→ ${check(text) || 'accepted'}`)
  }
  for (const text of accepted) assert.equal(check(text), '', text)
})
