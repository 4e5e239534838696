/**
 * A recorded history: writers that append, edit and delete at once while summaries are made by a model of moods
 * and the object dies or is evicted. Every acknowledged write is recorded, and held against the session at rest.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { Compacting } from "../support/compacting.ts";
import { type Plane, type Tenant, startPlane, text } from "../support/harness.ts";
import { GOOD_SUMMARY, type Scripted, startModelServer } from "../support/model-server.ts";

const WRITERS = 4;
const WRITING_MS = 18_000;
const PAUSE_MS = 300;
const MISFORTUNE_MS = 1_800;
const EVICTION_MS = 2_000;
/** Most changes are of what was written last, as people make them; the others fall into what is being summarised. */
const RECENT_SHARE = 0.95;
const DEATHS = [
  "append:inserted",
  "append:written",
  "append:armed",
  "edit:replaced",
  "remove:removed",
  "commit:before",
  "commit:recorded",
  "commit:written",
  "fail:written",
  "drain:woken",
  "drain:sent",
];

const model = await startModelServer([{ kind: "status", status: 500 }]);
let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane({
    compactor: { COMPACTION_MODEL: "openai-compatible/scripted", OPENAI_COMPATIBLE_BASE_URL: model.url },
  });
  tenant = await plane.tenant({ compaction: { threshold: 1_600, keep_recent_tokens: 800, cooldown_messages: 2 } });
  await plane.addPrices("openai-compatible", "scripted", { input: "1", output: "2" });
});
afterAll(async () => {
  await plane.close();
  await model.close();
});

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** Numbers in [0, 1), the same in every run. */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A good answer after some while, and between two of them one of each other kind. */
function moods(next: () => number): Scripted[] {
  const bad: Scripted[] = [
    { kind: "status", status: 429 },
    { kind: "text", text: "" },
    { kind: "garbage" },
    { kind: "status", status: 500 },
  ];
  const good = (): Scripted => ({ kind: "text", text: GOOD_SUMMARY, afterMs: 150 + Math.floor(next() * 500) });
  return Array.from({ length: 50 }, (_, index) => [good(), bad[index % bad.length] ?? good()]).flat();
}

/** Until it is acknowledged: what is sent again is the same write. */
async function acknowledged(write: () => Promise<void>): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await write();
    } catch (error) {
      if (tries === 20) throw error;
      await pause(50);
    }
  }
}

/** Who writes passes one by one; who shuts it waits for them, and they for it. */
class Gate {
  #shut: Promise<unknown> = Promise.resolve();
  readonly #passing = new Set<Promise<void>>();

  async pass(work: () => Promise<void>): Promise<void> {
    await this.#shut;
    const passing = work().finally(() => this.#passing.delete(passing));
    this.#passing.add(passing);
    await passing;
  }

  async shut(work: () => Promise<void>): Promise<void> {
    const opened = Promise.withResolvers<void>();
    this.#shut = opened.promise;
    await Promise.allSettled(this.#passing);
    await work().finally(opened.resolve);
  }
}

type Writer = { readonly name: string; readonly next: () => number; readonly own: string[]; count: number };

async function write(session: Compacting, gate: Gate, writer: Writer, until: number): Promise<void> {
  const { name, next, own } = writer;
  const pick = () => (next() < RECENT_SHARE ? own.at(-1) : own[Math.floor(next() * own.length)]) ?? "";
  while (Date.now() < until) {
    const count = (writer.count += 1);
    const kind = own.length < 3 ? 0 : next();
    const content = `Writer ${name} at ${count}: order ${name}-${count}. ${"They went through the list. ".repeat(6)}`;
    await gate.pass(async () => {
      if (kind < 0.8) {
        const id = `${name}${count}`;
        await acknowledged(() => session.append(text(id, "user", content)));
        own.push(id);
      } else if (kind < 0.92) {
        const id = pick();
        await acknowledged(() => session.edit(id, `${content} Edited.`));
      } else {
        const id = pick();
        await acknowledged(() =>
          session.remove(id).catch((error: unknown) => {
            // Its first reply was lost.
            if (!String(error).includes(": 404 ")) throw error;
            session.written.delete(id);
          }),
        );
        own.splice(own.indexOf(id), 1);
      }
    });
    await pause(PAUSE_MS * next());
  }
}

/** While nobody writes and a summary may be under way: the platform evicts an object that no call is in. */
async function evictions(session: Compacting, gate: Gate, until: number): Promise<number> {
  let evicted = 0;
  while (Date.now() < until) {
    await pause(EVICTION_MS);
    await gate.shut(async () => {
      await session.evict();
      evicted += 1;
    });
  }
  return evicted;
}

async function misfortune(session: Compacting, next: () => number, until: number): Promise<void> {
  while (Date.now() < until) {
    await pause(MISFORTUNE_MS * next());
    // It may be dying already.
    await session.die(DEATHS[Math.floor(next() * DEATHS.length)] ?? "").catch(() => undefined);
  }
}

test(
  "nothing acknowledged is lost, nothing is summarised that was not there, nothing is billed twice",
  { timeout: 150_000 },
  async () => {
    model.play(...moods(chance(42)));
    const session = await Compacting.open(plane, tenant, model, 0);
    const writers = Array.from({ length: WRITERS }, (_, index): Writer => {
      return { name: String.fromCharCode(97 + index), next: chance(index), own: [], count: 0 };
    });
    const fate = chance(7);
    const until = Date.now() + WRITING_MS;
    const gate = new Gate();
    const writing = writers.map((writer) => write(session, gate, writer, until));
    // First evictions, then deaths: what arms a death holds on to the object.
    const evicted = await evictions(session, gate, until - WRITING_MS / 2);
    await Promise.all([misfortune(session, fate, until), ...writing]);
    expect(evicted).toBeGreaterThan(2);
    model.play({ kind: "text", text: GOOD_SUMMARY });
    const { history, usageEvents, told } = await session.expectSound();
    expect(history.some(({ id }) => id.startsWith("compaction_"))).toBe(true);
    expect(told.filter(({ state }) => state === "applied").length).toBeGreaterThan(1);
    expect(usageEvents.length).toBeGreaterThan(1);
    expect(model.prompts.length).toBeGreaterThan(usageEvents.length);
  },
);
