/** `ETag` and `If-Match` over revisions. */
import type { Context } from "hono";
import { type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
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

export const STALE = problem("precondition_failed", "The resource is not at the revision that If-Match names.");
