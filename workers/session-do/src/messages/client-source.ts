/** What an untrusted client may write. Pure. Source of the rule on reserved keys: Cloudflare's session messages. */
import type { Message, Source } from "@sessionplane/shared/message";
import { type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { TenantRules } from "@sessionplane/shared/rpc/session-rpc";

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function withoutReserved(message: Message, reserved: readonly string[]): Message {
  const { metadata, ...rest } = message;
  if (!isObject(metadata) || reserved.every((key) => !(key in metadata))) return message;
  const kept = Object.fromEntries(Object.entries(metadata).filter(([key]) => !reserved.includes(key)));
  return Object.keys(kept).length > 0 ? { ...rest, metadata: kept } : rest;
}

/** The messages as they may be stored, or why one may not. */
export function admit(messages: readonly Message[], source: Source, rules: TenantRules): Result<readonly Message[], Problem> {
  if (source === "server") return ok(messages);
  const index = messages.findIndex((message) => !rules.client_roles.includes(message.role));
  if (index === -1) return ok(messages.map((message) => withoutReserved(message, rules.reserved_metadata_keys)));
  const role = messages[index]?.role ?? "";
  const allowed = rules.client_roles.join(", ") || "none";
  return err(
    problem("role_not_allowed", `A client may not write the role ${role}; allowed: ${allowed}.`, {
      errors: [{ pointer: `/messages/${index}/role`, code: "role_not_allowed", message: `allowed: ${allowed}` }],
    }),
  );
}
