/** What routes of blocks and their entries share: their paths, and what a write of them expects to be there. */
import type { Context } from "hono";
import { blockLabelSchema } from "@sessionplane/shared/block";
import { type Problem } from "@sessionplane/shared/problem";
import { type Result, ok } from "@sessionplane/shared/result";
import type { Idempotency, IfMatch } from "@sessionplane/shared/rpc/session-rpc";
import { skillKeySchema } from "@sessionplane/shared/skill";
import type { AppEnv } from "../../env.ts";
import { ifMatchMessage } from "../../http/etag.ts";
import { idempotencyOrRequest } from "../../http/idempotency.ts";
import { sessionParams } from "../../http/params.ts";

export const blockParams = sessionParams.extend({ label: blockLabelSchema });
export const entryParams = blockParams.extend({ key: skillKeySchema });

type Expectation = { readonly if_match?: IfMatch; readonly idempotency: Idempotency };

/** `If-Match`, `If-None-Match`, `Idempotency-Key`. */
export async function writeOf(c: Context<AppEnv>): Promise<Result<Expectation, Problem>> {
  const expected = ifMatchMessage(c);
  return expected.ok ? ok({ ...expected.value, idempotency: await idempotencyOrRequest(c) }) : expected;
}
