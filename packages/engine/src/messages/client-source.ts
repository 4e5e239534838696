/**
 * What an untrusted client may write: messages of the roles that the tenant allows, without the metadata
 * that only the server sets. Pure. Source of the rule on reserved keys: Cloudflare's session messages.
 */
import { type Message, type Role, isToolPart } from "@sessionplane/shared/message";
import { type Problem, fieldProblem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";

/** What a tenant lets its clients write. */
export type ClientRules = {
  readonly client_roles: readonly Role[];
  readonly reserved_metadata_keys: readonly string[];
};

type Metadata = Readonly<Record<string, unknown>>;

const metadataOf = ({ metadata }: Message): Metadata | null =>
  typeof metadata === "object" && metadata !== null && !Array.isArray(metadata) ? (metadata as Metadata) : null;

const pick = (metadata: Metadata | null, keep: (key: string) => boolean): Metadata =>
  Object.fromEntries(Object.entries(metadata ?? {}).filter(([key]) => keep(key)));

/** The client's metadata without reserved keys, and the reserved ones that the server had set. */
function guardMetadata(message: Message, stored: Message | null, reserved: readonly string[]): Message {
  const own = metadataOf(message);
  const kept = pick(stored === null ? null : metadataOf(stored), (key) => reserved.includes(key));
  const sends = own !== null && reserved.some((key) => key in own);
  if (!sends && Object.keys(kept).length === 0) return message;
  const metadata = { ...pick(own, (key) => !reserved.includes(key)), ...kept };
  const { metadata: _metadata, ...rest } = message;
  return Object.keys(metadata).length > 0 ? { ...rest, metadata } : rest;
}

/** Results of tools are the assistant's: a client that may not write its role may not make them up. */
const mayHoldTools = (roles: readonly Role[]): boolean => roles.includes("assistant") || roles.includes("tool");

/** Refuses a role that a client may not write. `at`: the pointer of the message. */
export function checkClientRole(role: string, rules: ClientRules, at: string): Problem | null {
  const roles: readonly string[] = rules.client_roles;
  if (roles.includes(role)) return null;
  return fieldProblem(
    "role_not_allowed",
    `${at}/role`,
    `a client may not write the role ${role}; allowed: ${roles.join(", ") || "none"}`,
  );
}

/** Whether a message holds what only the server sets: then a client may not make it go. */
export const holdsReserved = (message: Message, rules: ClientRules): boolean => {
  const metadata = metadataOf(message);
  return metadata !== null && rules.reserved_metadata_keys.some((key) => key in metadata);
};

/** The message as a client may store it, in place of `stored` when that is there, or why not. */
export function admitFromClient(
  message: Message,
  stored: Message | null,
  rules: ClientRules,
  at: string,
): Result<Message, Problem> {
  const role = checkClientRole(stored?.role ?? message.role, rules, at) ?? checkClientRole(message.role, rules, at);
  if (role !== null) return err(role);
  const tool = mayHoldTools(rules.client_roles) ? -1 : message.parts.findIndex(isToolPart);
  if (tool !== -1) return err(fieldProblem("part_not_allowed", `${at}/parts/${tool}`, "a client may not write a tool's part"));
  return ok(guardMetadata(message, stored, rules.reserved_metadata_keys));
}
