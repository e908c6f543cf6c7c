/** Realistic rows for reports: teams, members, labels, episodes, ratings, results of targets, and availability. */
import assert from 'node:assert/strict'
import { insertMember, newId, pastId } from './internals.ts'
import type { World } from './support.ts'

const dayMs = 86_400_000
const minuteMs = 60_000

/** Numbers from 0 to 1, the same in every run. */
function createRandom(seed: number) {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

const people = ['Ana Ruiz', 'Ben Carter', 'Chidi Okafor', 'Dana Levi', 'Emil Nowak']
const customers = ['Rosa Diaz', 'Kenji Mori', 'Lena Vogt', 'Omar Haddad', 'Priya Nair', 'Tom Baker', 'Yara Costa']
const colors = ['#2f6fde', '#128a66', '#b5449a', '#8a4f00']

/** Teams, members, labels and episodes of the last 60 days: most of them on weekdays between 8 and 18 o'clock (UTC). */
export async function fillReports({ db, api }: Pick<World, 'db' | 'api'>, count: number) {
  const workspace_id = api.workspaceId
  const random = createRandom(5)
  const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value
  const now = Date.now()
  const connections = await db<{ id: string; channel: string }[]>`
    select id, channel_name as channel from channel_connections where workspace_id = ${workspace_id} order by id`
  const named = (names: readonly string[]) => names.map((name) => ({ id: newId(), name }))
  const teams = named(['Billing', 'Sales', 'Support'])
  const labels = named(['Delivery', 'Refund', 'Question', 'Complaint'])
  for (const [table, rows] of [
    ['teams', teams],
    ['labels', labels],
  ] as const) {
    for (const [at, { id, name }] of rows.entries())
      await db`insert into ${db(table)} (workspace_id, id, name, name_key, color, created_at)
        values (${workspace_id}, ${id}, ${name}, ${name.toLowerCase()}, ${colors[at] ?? ''}, now())`
  }
  const members: string[] = []
  for (const name of people) {
    const email = `${name.split(' ')[0]?.toLowerCase()}@example.test`
    members.push((await insertMember(db, workspace_id, { email, name, role: 'agent', passwordHash: '' })).id)
  }
  await db`update members set created_at = now() - interval '90 days' where workspace_id = ${workspace_id}`
  for (const member of members) await fillDays(db, workspace_id, member, random)
  const targets = named(['Everything', 'Sales within an hour'])
  for (const [at, { id, name }] of targets.entries())
    await db`insert into targets (workspace_id, id, name, name_key, position, is_active, first_reply_minutes, created_at)
      values (${workspace_id}, ${id}, ${name}, ${name.toLowerCase()}, ${at}, false, 30, now())`
  const idOf = ({ id }: { id: string }) => id
  const conversations = []
  for (let at = 0; at < Math.ceil(count / 4); at++) {
    const contact = newId()
    const conversation = {
      ...{ id: newId(), connection: pick(connections), team: pick([...teams.map(idOf), null]) },
      ...{ member: pick([...members, members[0] ?? '', null]), labels: labels.map(idOf).filter(() => random() < 0.3) },
      isWaiting: random() < 0.3,
    }
    const name = `${pick(customers)} ${at + 1}`
    await db`insert into contacts (workspace_id, id, name, created_at, updated_at) values (${workspace_id}, ${contact}, ${name}, now(), now())`
    await db`
      insert into conversations (workspace_id, id, contact_id, channel, connection_id, status, created_at, updated_at, waiting_since,
        team_id, assigned_agent_id)
      values (${workspace_id}, ${conversation.id}, ${contact}, ${conversation.connection.channel}, ${conversation.connection.id}, 'open',
        now(), now(), ${conversation.isWaiting ? new Date(now - minuteMs).toISOString() : null}, ${conversation.team}, ${conversation.member})`
    await db`
      insert into conversation_labels (workspace_id, conversation_id, label_id)
      select ${workspace_id}, ${conversation.id}, l from unnest(${conversation.labels}::uuid[]) l`
    conversations.push(conversation)
  }
  for (let at = 0; at < count; at++) {
    const conversation = conversations[at % conversations.length] ?? assert.fail()
    let opened = 0
    do {
      const day = Math.floor(random() * 60)
      const hour = random() < 0.85 ? 8 + (random() + random()) * 5 : random() * 24
      opened = Math.floor((now - (now % dayMs) - day * dayMs + hour * 60 * minuteMs) as number)
    } while (opened > now - minuteMs || ([0, 6].includes(new Date(opened).getUTCDay()) && random() < 0.8))
    const isLast = at >= count - conversations.length
    const isOpen = isLast && conversation.isWaiting
    const spread = (median: number) => median * Math.exp((random() + random() + random() - 1.5) * 2.4)
    const replied = isOpen || random() < 0.06 ? null : Math.floor(opened + spread(7) * minuteMs)
    const closed = isOpen ? null : Math.floor((replied ?? opened) + spread(140) * minuteMs)
    const iso = (ms: number | null) => (ms === null ? null : new Date(Math.min(ms, now - 1000)).toISOString())
    const id = pastId(opened)
    await db.begin(async (sql) => {
      await sql`
        insert into episodes (workspace_id, id, conversation_id, connection_id, opened_at, opened_by, first_reply_at, first_reply_by,
          replies, closed_at, closed_by, reopened_from, team_id, member_id, labels, office_first_reply_s, office_closing_s)
        values (${workspace_id}, ${id}, ${conversation.id}, ${conversation.connection.id}, ${iso(opened)},
          ${random() < 0.93 ? 'customer' : 'member'}, ${iso(replied)}, ${replied === null ? null : pick(members)},
          ${isOpen ? 0 : Math.floor(random() * 6)}, ${iso(closed)},
          ${closed === null ? null : pick(['member', 'member', 'member', 'automation', 'silence'])},
          ${random() < 0.09 ? newId() : null}, ${isOpen ? null : conversation.team}, ${isOpen ? null : conversation.member},
          ${isOpen ? [] : conversation.labels}::uuid[], ${replied === null ? null : Math.floor(random() * 900)},
          ${closed === null ? null : Math.floor(random() * 9000)})`
      for (const kind of ['first_reply', 'closing'] as const) {
        const at = iso(kind === 'closing' ? closed : replied)
        const isMet = random() < 0.82
        if (at === null) continue
        await sql`
          insert into target_clocks (workspace_id, episode_id, target_id, kind, started_at, breached_at, outcome, ended_at)
          values (${workspace_id}, ${id}, ${pick(targets).id}, ${kind}, ${iso(opened)}, ${isMet ? null : at},
            ${isMet ? 'met' : 'missed'}, ${at})`
      }
      if (closed !== null && closed < now - dayMs && random() < 0.4) {
        const rating = random() < 0.35 ? null : pick([5, 5, 5, 4, 4, 3, 2, 1])
        await sql`
          insert into ratings (workspace_id, message_id, episode_id, conversation_id, contact_id, member_id, state, asked_at, rating,
            rated_at, is_announced, comment, created_at)
          values (${workspace_id}, ${pastId(closed + 1)}, ${id}, ${conversation.id}, ${newId()}, ${conversation.member},
            ${rating === null ? 'asked' : 'rated'}, ${iso(closed + minuteMs)}, ${rating},
            ${rating === null ? null : iso(closed + 30 * minuteMs)}, true,
            ${rating !== null && rating < 3 ? 'I waited too long for an answer.' : null}, ${iso(closed)})`
      }
      if (isOpen)
        await sql`update conversations set episode_id = ${id} where workspace_id = ${workspace_id} and id = ${conversation.id}`
    })
  }
  return { teams, labels, members }
}

/** A member is available on weekdays from 8 to 17 o'clock (UTC), and away at noon. */
async function fillDays(db: World['db'], workspaceId: string, member: string, random: () => number): Promise<void> {
  const today = Date.now() - (Date.now() % dayMs)
  for (let day = 1; day < 60; day++) {
    const start = today - day * dayMs
    if ([0, 6].includes(new Date(start).getUTCDay()) || random() < 0.15) continue
    for (const [state, from, to] of [
      ['available', 8 + random(), 12],
      ['away', 12, 12.75],
      ['available', 12.75, 16 + random()],
    ] as const) {
      const at = (hours: number) => new Date(start + hours * 60 * minuteMs).toISOString()
      await db`insert into availability_spans (workspace_id, member_id, started_at, ended_at, state, is_chosen)
        values (${workspaceId}, ${member}, ${at(from)}, ${at(to)}, ${state}, ${state === 'away'})`
    }
  }
}
