/** The way to a session's object: the only place that names one. */
import type { SessionId, TenantId } from "@sessionplane/shared/ids";
import type { SessionNamespace, SessionRpc } from "@sessionplane/shared/rpc/session-rpc";

/** A new stub a call: one that failed goes on failing. */
export const sessionOf = (namespace: SessionNamespace, tenantId: TenantId, sessionId: SessionId): SessionRpc =>
  namespace.getByName(`${tenantId}:${sessionId}`);
