/**
 * Builders for tests of the session's object: a session of its own for each test, messages, usage. Tests
 * inside workerd alone import it.
 */
import { env } from "cloudflare:workers";
import { type SessionId, type TenantId, newId } from "@sessionplane/shared/ids";
import type { Message, Role } from "@sessionplane/shared/message";
import type { Result } from "@sessionplane/shared/result";
import type { AppendMessages, Appended, SessionRpc, TenantRules } from "@sessionplane/shared/rpc/session-rpc";
import { NO_SETTINGS, type SessionSettings } from "@sessionplane/shared/session";
import type { PricedUsage } from "@sessionplane/shared/usage-event";
import type { FaultPoint } from "../fault-points.ts";
import type { SessionDO } from "../session-do.ts";

export const RULES: TenantRules = { client_roles: ["user"], reserved_metadata_keys: ["verified"], compaction: {} };

export const SETTINGS: SessionSettings = { ...NO_SETTINGS, name: "a session" };

type Rpc = SessionRpc & { armFault(point: FaultPoint): Promise<void> };
export type TestSession = {
  readonly tenantId: TenantId;
  readonly sessionId: SessionId;
  readonly stub: DurableObjectStub<SessionDO>;
  /** One whose object has died goes on failing. */
  readonly newStub: () => DurableObjectStub<SessionDO>;
  /** On a new stub. */
  readonly rpc: () => Rpc;
};

/** A name that no other test has; nothing is opened. */
export function unopened(): TestSession {
  const [tenantId, sessionId] = [newId("tenant"), newId("session")];
  const stub = () => env.SESSION.getByName(`${tenantId}:${sessionId}`);
  // The platform's RPC types lose branded ids and unions; the contract is the one that the class implements.
  const rpc = () => stub() as unknown as Rpc;
  return { tenantId, sessionId, stub: stub(), newStub: stub, rpc };
}

export async function opened(settings: Partial<SessionSettings> = {}): Promise<TestSession> {
  const session = unopened();
  valueOf(await open(session, settings));
  return session;
}

export const open = ({ rpc, tenantId, sessionId }: TestSession, settings: Partial<SessionSettings> = {}) =>
  rpc().open({
    tenant_id: tenantId,
    session_id: sessionId,
    settings: { ...SETTINGS, ...settings },
    created_at: Date.UTC(2026, 0, 1),
    rules: RULES,
  });

export function valueOf<T, E>(result: Result<T, E>): T {
  if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.error)}`);
  return result.value;
}

export function errorOf<T, E>(result: Result<T, E>): E {
  if (result.ok) throw new Error(`not refused: ${JSON.stringify(result.value)}`);
  return result.error;
}

export const message = (id: string, text = id, role: Role = "user"): Message => ({
  id,
  role,
  parts: [{ type: "text", text }],
});

export async function append(
  session: TestSession,
  messages: readonly Message[],
  rest: Partial<AppendMessages> = {},
): Promise<Appended> {
  return valueOf(await session.rpc().append({ messages, source: "server", rules: RULES, ...rest })).value;
}

/** `count` messages in a row, of about `tokens` tokens each. */
export const conversation = (count: number, tokens = 10, prefix = "m"): Message[] =>
  Array.from({ length: count }, (_, index) =>
    message(`${prefix}${index}`, "abcd".repeat(tokens - 4), index % 2 === 0 ? "user" : "assistant"),
  );

export const usage = (id: string, rest: Partial<PricedUsage> = {}): PricedUsage => ({
  id,
  fingerprint: `of ${id}`,
  provider: "openai",
  model: "gpt-4o",
  purpose: "turn",
  status: "final",
  user_id: null,
  message_id: null,
  request_id: null,
  tags: {},
  occurred_at: Date.UTC(2026, 0, 2),
  input_tokens: 1_000,
  output_tokens: 100,
  lines: [{ class: "input", quantity: 1_000, price: null, list_nano: 2_500_000, billed_nano: 3_000_000 }],
  raw_usage: `{"inputTokens":1000}`,
  normalizer_version: 1,
  ...rest,
});

/** Polls until it holds. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, deadlineMs = 10_000): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`never: ${what}`);
    await scheduler.wait(20);
  }
}
