/**
 * `Idempotency-Key`. Catalog routes keep the reply in D1 and make their resource's id from the claim, so
 * that an effect whose reply was lost is repeated, not doubled. Session routes hand the key to the
 * session's object, which keeps it in the transaction of the effect.
 */
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { type Id, type IdKind, idOfSameMoment, newId } from "@sessionplane/shared/ids";
import { sha256 } from "@sessionplane/shared/json";
import { type Problem, problem } from "@sessionplane/shared/problem";
import type { Idempotency } from "@sessionplane/shared/rpc/session-rpc";
import { claim, complete, release } from "../catalog/idempotency.ts";
import { connect } from "../catalog/db.ts";
import type { AppEnv } from "../env.ts";
import { principalOf } from "./authenticate.ts";
import { problemReply } from "./problems.ts";

const KEY_SHAPE = /^[\x21-\x7e]{1,255}$/;

const BAD_KEY = problem("invalid", "Idempotency-Key must be 1 to 255 printable ASCII characters.", {
  errors: [{ pointer: "Idempotency-Key", code: "invalid_format", message: "1 to 255 printable ASCII characters" }],
});
const MISMATCH = problem("idempotency_mismatch", "This Idempotency-Key was used for another request.");
const IN_PROGRESS = problem("idempotency_in_progress", "The first request with this Idempotency-Key is still running.");

const ownerOf = (c: Context<AppEnv>): string => {
  const principal = principalOf(c);
  return principal.kind === "tenant" ? principal.tenantId : "operator";
};

async function scopeKey(c: Context<AppEnv>, key: string): Promise<Idempotency> {
  const url = new URL(c.req.url);
  return {
    key: await sha256(`${c.req.method} ${url.pathname} ${key}`),
    fingerprint: await sha256(`${url.search} ${c.get("canonicalBody") ?? ""}`),
  };
}

/** Refuses a malformed key on every route, whether it keeps it or not. */
export const checkIdempotencyKey = createMiddleware<AppEnv>(async (c, next) => {
  const key = c.req.header("Idempotency-Key");
  return key !== undefined && !KEY_SHAPE.test(key) ? problemReply(c, BAD_KEY) : next();
});

/** For the session's object. */
export async function idempotencyOf(c: Context<AppEnv>): Promise<{ idempotency?: Idempotency }> {
  const key = c.req.header("Idempotency-Key");
  return key === undefined ? {} : { idempotency: await scopeKey(c, key) };
}

/** For effects that must not be repeated when a call to the object is: without a key, the request is its own. */
export async function idempotencyOrRequest(c: Context<AppEnv>): Promise<Idempotency> {
  const { idempotency } = await idempotencyOf(c);
  return idempotency ?? { key: c.get("requestId"), fingerprint: "" };
}

/** What a stored reply says of a secret that it does not hold. */
const SECRET_SHOWN = "secret_shown";

const secretNotReplayable = (id: string): Problem =>
  problem("secret_not_replayable", "The key was made and its secret shown once; make another if it is lost.", {
    fields: { key_id: id },
  });

/** What a stored reply says of a session that was erased since. */
const ERASED = "erased";

function replay(c: Context<AppEnv>, status: number, body: string): Response {
  const stored: unknown = JSON.parse(body);
  if (typeof stored === "object" && stored !== null && SECRET_SHOWN in stored) {
    return problemReply(c, secretNotReplayable(String(stored[SECRET_SHOWN])));
  }
  if (typeof stored === "object" && stored !== null && ERASED in stored) {
    return problemReply(c, problem("erased", "What this request made was erased since."));
  }
  return new Response(body, { status, headers: { "Content-Type": "application/json", "Idempotent-Replayed": "true" } });
}

/** For catalog routes that create. `secret`: the reply is never stored, only the id of what was made. */
export const keepReply = (options: { secret?: boolean } = {}) =>
  createMiddleware<AppEnv>(async (c, next) => {
    const header = c.req.header("Idempotency-Key");
    if (header === undefined) return next();
    const db = connect(c.env.CATALOG);
    const owner = ownerOf(c);
    const { key, fingerprint } = await scopeKey(c, header);
    const claimed = await claim(db, owner, key, fingerprint);
    if (claimed.kind === "mismatch") return problemReply(c, MISMATCH);
    if (claimed.kind === "in_progress") return problemReply(c, IN_PROGRESS);
    if (claimed.kind === "replay") return replay(c, claimed.status, claimed.body);
    c.set("resourceSeed", claimed.resourceSeed);
    await next();
    if (c.res.status < 200 || c.res.status > 299) return release(db, owner, key);
    const body = await c.res.clone().text();
    const kept = options.secret ? JSON.stringify({ [SECRET_SHOWN]: JSON.parse(body).id }) : body;
    return complete(db, owner, key, c.res.status, kept);
  });

/** The id of what this request makes: the same one when the request is repeated with its key. */
export function resourceId<K extends IdKind>(c: Context<AppEnv>, kind: K): Id<K> {
  const seed = c.get("resourceSeed");
  return seed === undefined ? newId(kind) : idOfSameMoment(kind, seed);
}
