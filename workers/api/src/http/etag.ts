/** `ETag` and `If-Match` over revisions. */
import type { Context } from "hono";
import { type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { IfMatch } from "@sessionplane/shared/rpc/session-rpc";
import type { AppEnv } from "../env.ts";

export const etagOf = (resource: { readonly revision: number }): Record<string, string> => ({ ETag: `"${resource.revision}"` });

const REVISION_TAG = /^(?:W\/)?"(\d{1,15})"$/;

/** The revision that the caller expects, or undefined when it expects none. */
export function ifMatch(c: Context<AppEnv>): Result<number | undefined, Problem> {
  const header = c.req.header("If-Match");
  if (header === undefined || header === "*") return ok(undefined);
  const revision = REVISION_TAG.exec(header)?.[1];
  return revision === undefined ? err(STALE) : ok(Number(revision));
}

/** What the caller expects to be there: a version; `*`, any; `If-None-Match: *`, nothing. */
export function ifMatchMessage(c: Context<AppEnv>): Result<{ if_match?: IfMatch }, Problem> {
  if (c.req.header("If-None-Match") === "*") return ok({ if_match: "none" });
  if (c.req.header("If-Match") === "*") return ok({ if_match: "any" });
  const version = ifMatch(c);
  if (!version.ok) return version;
  return ok(version.value === undefined ? {} : { if_match: version.value });
}

/** Whether what the caller has is what there is: `If-None-Match`, a list of tags or `*`. */
export const matchesNone = (header: string | undefined, etag: string): boolean =>
  header !== undefined && (header.trim() === "*" || header.split(",").some((one) => one.trim().replace(/^W\//, "") === etag));

export const versionTag = ({ version }: { readonly version: number }): { ETag: string } => ({ ETag: `"${version}"` });

export const STALE = problem("precondition_failed", "The resource is not at the revision that If-Match names.");
