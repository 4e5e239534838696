import { expect, test } from "vitest";
import type { Problem } from "@sessionplane/shared/problem";
import { type Result, ok } from "@sessionplane/shared/result";
import { untilBroken } from "./until-broken.ts";

async function* broken(): AsyncGenerator<Result<number, Problem>> {
  yield ok(1);
  throw new Error("the session was erased while it was read");
}

test("lines that break off end with a refusal, and what goes wrong with a line is its reader's", async () => {
  const read: unknown[] = [];
  for await (const line of untilBroken(broken())) read.push(line);
  expect(read).toMatchObject([ok(1), { ok: false, error: { code: "unavailable" } }]);
  const failing = async () => {
    for await (const line of untilBroken(broken())) throw new Error(`no room for ${JSON.stringify(line)}`);
  };
  await expect(failing()).rejects.toThrow("no room");
});
