/**
 * The visitor of the chat widget: a token for an anonymous visitor, one for a customer whom the site signed in, and the signals of a
 * visitor, by which members see that the visitor types or has read a reply.
 */
import type { FastifyRequest } from 'fastify'
import { openIdentitySecret } from '../channels/identity-secret.ts'
import { recordVisitorTyping, removeVisitorTyping } from '../conversations/visitor-presence.ts'
import type { Sealer } from '../lib/crypto.ts'
import type { App } from '../lib/http/server.ts'
import type { Db } from '../lib/postgres/db.ts'
import { DataOf, DateTime, Type, Uuid } from '../lib/schema.ts'
import { applyVisitorRead } from '../messages/receiving/reports.ts'
import type { Signals } from '../signals/signals.ts'
import { maxTokenLength, readIdentity } from './identity.ts'
import { findConversation } from './stream.ts'
import { countIdentity, createSignalCounter, createSignedVisitor, createVisitor } from './visitors.ts'

type VisitorOptions = {
  db: Db
  sealer: Sealer
  signals: Signals
  /** The visitor of the request's token. Throws 401. */
  requireVisitor: (request: FastifyRequest) => string
}

const Site = Type.Object({ site_id: Type.String() })
const AnonymousVisitor = Type.Object({ visitor_token: Type.String() })
const SignedVisitor = Type.Object({ visitor_token: Type.String(), visitor_id: Uuid, expires_at: DateTime })
const IdentityToken = Type.Object({ token: Type.String({ maxLength: maxTokenLength }) })

export const visitorRoutes =
  ({ db, sealer, signals, requireVisitor }: VisitorOptions) =>
  async (app: App) => {
    const countSignal = createSignalCounter()

    app.post(
      '/web-chat/:site_id/visitors',
      { schema: { params: Site, response: { 201: DataOf(AnonymousVisitor) } } },
      async (request, reply) => {
        const visitor_token = await createVisitor(db, sealer, request.visit.site.id, request.clientAddress)
        reply.code(201)
        return { data: { visitor_token } }
      },
    )

    app.post(
      '/web-chat/:site_id/identity',
      { schema: { params: Site, body: IdentityToken, response: { 201: DataOf(SignedVisitor) } } },
      async (request, reply) => {
        const { site } = request.visit
        await countIdentity(db, site.id, request.clientAddress)
        const identity = readIdentity(openIdentitySecret(sealer, site), site.id, request.body.token)
        const { token: visitor_token, id: visitor_id } = createSignedVisitor(sealer, site, identity)
        reply.code(201)
        return { data: { visitor_token, visitor_id, expires_at: new Date(identity.expires_at_ms).toISOString() } }
      },
    )

    app.post(
      '/web-chat/:site_id/typing',
      { schema: { params: Site, body: Type.Object({ is_typing: Type.Boolean() }) } },
      async (request, reply) => {
        const visitorId = requireVisitor(request)
        countSignal(visitorId, request.clientAddress)
        const { workspace_id: workspaceId } = request.visit.site
        const note = request.body.is_typing ? recordVisitorTyping : removeVisitorTyping
        if (await note(db, workspaceId, visitorId)) signals.presenceChanged(workspaceId)
        return reply.code(204).send()
      },
    )

    app.post(
      '/web-chat/:site_id/seen',
      { schema: { params: Site, body: Type.Object({ message_id: Uuid }) } },
      async (request, reply) => {
        const visitorId = requireVisitor(request)
        countSignal(visitorId, request.clientAddress)
        const { site } = request.visit
        const conversationId = await findConversation(db, site, visitorId)
        const upTo = request.body.message_id
        if (conversationId && (await applyVisitorRead(db, site.workspace_id, { conversationId, visitorId, upTo }))) {
          signals.inboxChanged(site.workspace_id, [conversationId])
        }
        return reply.code(204).send()
      },
    )
  }
