/** The originals behind compactions, as the tool gives them. */
import { expect, test } from "vitest";
import { Session } from "../sessions.ts";
import { appendAll, newObject, talk, text } from "../testing/in-object.ts";

const recall = async (session: Session, args: object): Promise<string | undefined> =>
  (await session.tools())["recall"]?.execute(args);

const idsIn = (answer: string | undefined): string[] =>
  [...(answer ?? "").matchAll(/^\[\w+\] \((\w+)\) /gm)].map(([, id]) => id ?? "");

test("is there once a session has compactions, with no block at all", () =>
  newObject().run(async (host) => {
    const session = Session.create(host);
    await appendAll(session, talk(4));
    expect(await session.tools()).toEqual({});
    await session.addCompaction("a summary", "m0", "m1");
    expect(Object.keys(await session.tools())).toEqual(["recall"]);
  }));

test("reads on from a summary, by the id of its message or of its record", () =>
  newObject().run(async (host) => {
    const session = Session.create(host);
    await appendAll(session, talk(30, 500));
    const { id } = await session.addCompaction("a summary", "m2", "m20");
    const first = await recall(session, { summary_id: `compaction_${id}` });
    expect(first).toBe(await recall(session, { summary_id: id }));
    const seen = idsIn(first);
    expect(seen[0]).toBe("m2");
    for (let answer = first; answer?.includes("There are more") === true;) {
      answer = await recall(session, { summary_id: id, after: seen.at(-1) });
      seen.push(...idsIn(answer));
    }
    expect(seen).toEqual(Array.from({ length: 19 }, (_, index) => `m${index + 2}`));
  }));

test("finds words behind summaries alone, in the order of the conversation", () =>
  newObject().run(async (host) => {
    const session = Session.create(host);
    await appendAll(session, [
      text("a", "The wifi is swordfish."),
      text("b"),
      text("c", "A swordfish is a fish."),
      text("d", "swordfish again"),
    ]);
    await session.addCompaction("a summary", "a", "c");
    expect(idsIn(await recall(session, { query: "swordfish" }))).toEqual(["a", "c"]);
    expect(idsIn(await recall(session, { query: "swordfish", after: "a" }))).toEqual(["c"]);
    expect(await recall(session, { query: "submarine" })).toBe("No results found.");
    expect(await recall(session, { query: "" })).toBe("No results found.");
  }));

test("stays on its branch", () =>
  newObject().run(async (host) => {
    const session = Session.create(host);
    await appendAll(session, talk(3));
    await session.appendMessage(text("other", "swordfish"), "m0");
    const { id } = await session.addCompaction("a summary", "m0", "m2");
    expect(idsIn(await recall(session, { summary_id: id }))).toEqual(["m0", "m1", "m2"]);
    expect(await recall(session, { query: "swordfish" })).toBe("No results found.");
  }));

test("says in words what it can't do", () =>
  newObject().run(async (host) => {
    const session = Session.create(host);
    await appendAll(session, talk(4));
    const { id } = await session.addCompaction("a summary", "m0", "m1");
    expect(await recall(session, {})).toBe("Error: give summary_id or query");
    expect(await recall(session, { summary_id: "none" })).toBe('Error: there is no summary "none"');
    expect(await recall(session, { summary_id: id, after: "m3" })).toBe('Error: no summary stands for a message "m3"');
    expect(await recall(session, { summary_id: id, after: "none" })).toBe('Error: no summary stands for a message "none"');
  }));
