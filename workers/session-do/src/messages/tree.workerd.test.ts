import fc from "fast-check";
import { describe, test } from "vitest";
import { type Step, TreeModel, compare, take } from "../testing/tree-model.ts";
import { type TestSession, opened } from "../testing/session.ts";

const any = fc.nat(1_000);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.record({
      kind: fc.constant("append" as const),
      below: fc.oneof({ weight: 2, arbitrary: fc.constant("leaf" as const) }, fc.constant("root" as const), {
        weight: 3,
        arbitrary: any,
      }),
      count: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("repeat" as const), at: any }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("edit" as const), at: any, length: fc.integer({ min: 1, max: 9 }) }) },
  {
    weight: 14,
    arbitrary: fc.record({ kind: fc.constant("delete" as const), at: fc.array(any, { minLength: 1, maxLength: 3 }) }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("choose" as const), at: any }) },
  { weight: 10, arbitrary: fc.record({ kind: fc.constant("compact" as const), at: any }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("read on" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("clear" as const) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("evict" as const) }) },
);

class Command implements fc.AsyncCommand<TreeModel, TestSession> {
  readonly #step: Step;
  constructor(one: Step) {
    this.#step = one;
  }
  check = () => true;
  toString = () => JSON.stringify(this.#step);
  async run(model: TreeModel, session: TestSession): Promise<void> {
    await take(model, session, this.#step);
    await compare(model, session);
  }
}

describe("the tree", () => {
  test("is a tree of parent pointers, whatever is appended, edited, deleted, chosen, compacted or evicted", async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands([step.map((one) => new Command(one))], { size: "max", maxCommands: 40 }), async (commands) => {
        const session = await opened();
        await fc.asyncModelRun(() => ({ model: new TreeModel(), real: session }), commands);
      }),
      { numRuns: 60 },
    );
  });
});
