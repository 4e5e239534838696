/**
 * Whether what a session shows is what was acknowledged: a pure check of a recorded history against the session
 * at rest. Gives every violation as a sentence; none means sound.
 */

export type Shown = { readonly id: string; readonly text: string; readonly tokens: number };
export type SeenOverlay = {
  readonly id: string;
  readonly from_id: string;
  readonly to_id: string;
  readonly messages: number;
  readonly tokens_before: number;
  readonly tokens_after: number;
};
type Money = { readonly amount: string } | null;
type Totals = { readonly events: number; readonly input_tokens: number; readonly output_tokens: number; readonly cost: Money };

/** The session at rest, as its reads and its events stream give it. */
export type Seen = {
  /** The active path, nothing applied. */
  readonly raw: readonly Shown[];
  readonly history: readonly Shown[];
  readonly tokenEstimate: number;
  readonly overlays: readonly SeenOverlay[];
  /** States of jobs, in the order in which the stream told them. */
  readonly told: readonly { readonly job_id: string; readonly state: string }[];
  readonly usageEvents: readonly {
    readonly id: string;
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly cost: Money;
  }[];
  readonly usage: Totals;
  /** The same session as the catalog lists it, and as its object describes it. */
  readonly listed: object;
  readonly described: object;
};

/** What was acknowledged: ids with their last text. `completions`: answers of the model that have a price. */
export type Acknowledged = { readonly written: ReadonlyMap<string, string>; readonly completions: number };

const OPEN: ReadonlySet<string> = new Set(["queued", "running"]);
const OVERLAY_PREFIX = "compaction_";

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

/** Billionths: amounts are compared as what they are. */
const nano = (money: Money): bigint => BigInt((money?.amount ?? "0").replace(".", ""));

function* lostMessages({ written }: Acknowledged, { raw }: Seen): Generator<string> {
  const seen = new Map(raw.map(({ id, text }) => [id, text]));
  if (seen.size < raw.length) yield "a message is there twice";
  for (const [id, text] of written) {
    if (!seen.has(id)) yield `${id} was acknowledged and is missing`;
    else if (seen.get(id) !== text) yield `${id} does not show what was last acknowledged`;
  }
  for (const id of seen.keys()) if (!written.has(id)) yield `${id} is there and should not be`;
}

type Covered = { readonly start: number; readonly end: number };

/** The places of the path that an overlay covers; null when its ends are no range of it. */
function coveredBy(overlay: SeenOverlay, raw: readonly Shown[]): Covered | null {
  const start = raw.findIndex(({ id }) => id === overlay.from_id);
  const end = raw.findIndex(({ id }) => id === overlay.to_id);
  return start === -1 || end < start ? null : { start, end };
}

function* falseOverlays({ raw, overlays }: Seen): Generator<string> {
  for (const overlay of overlays) {
    const covered = coveredBy(overlay, raw);
    if (covered === null) {
      yield `${overlay.id} has ends that are no range of the path`;
      continue;
    }
    const range = raw.slice(covered.start, covered.end + 1);
    if (range.length !== overlay.messages) yield `${overlay.id} claims ${overlay.messages} messages and covers ${range.length}`;
    const tokens = sum(range.map((message) => message.tokens));
    if (tokens !== overlay.tokens_before) yield `${overlay.id} claims ${overlay.tokens_before} tokens and covers ${tokens}`;
  }
}

/** The history is the path, with each overlay in the place of exactly its range. */
function* falseHistory({ raw, history, overlays, tokenEstimate }: Seen): Generator<string> {
  let at = 0;
  for (const shown of history) {
    const overlay = overlays.find(({ id }) => shown.id === OVERLAY_PREFIX + id);
    const covered = overlay === undefined ? null : coveredBy(overlay, raw);
    if (covered === null ? raw[at]?.id !== shown.id : covered.start !== at) {
      yield `${shown.id} stands where ${raw[at]?.id ?? "nothing"} should`;
      return;
    }
    at = covered === null ? at + 1 : covered.end + 1;
  }
  if (at !== raw.length) yield `the history ends before ${raw[at]?.id}`;
  const tokens = sum(history.map((shown) => shown.tokens));
  if (tokens !== tokenEstimate) yield `the estimate is ${tokenEstimate}, the history has ${tokens} tokens`;
}

function* doubleJobs({ told }: Seen): Generator<string> {
  const states = new Map<string, string>();
  for (const { job_id: id, state } of told) {
    const before = states.get(id) ?? "";
    if (!OPEN.has(state) && before === state) yield `${id} was told to be ${state} twice`;
    if (before === "applied" && state !== "applied") yield `${id} was ${state} after it was applied`;
    states.set(id, state);
    const open = [...states].filter(([, present]) => OPEN.has(present));
    if (open.length > 1) yield `two jobs were open: ${open.map(([job]) => job).join(", ")}`;
  }
  for (const [id, state] of states) if (OPEN.has(state)) yield `${id} is still ${state}`;
}

function* falseSums({ completions }: Acknowledged, { usageEvents, usage }: Seen): Generator<string> {
  if (usageEvents.length !== completions) yield `${completions} calls were answered, ${usageEvents.length} are billed`;
  if (new Set(usageEvents.map(({ id }) => id)).size < usageEvents.length) yield "a call is billed twice";
  const sums: readonly [string, number | bigint, number | bigint][] = [
    ["events", usage.events, usageEvents.length],
    ["input tokens", usage.input_tokens, sum(usageEvents.map((event) => event.input_tokens))],
    ["output tokens", usage.output_tokens, sum(usageEvents.map((event) => event.output_tokens))],
    ["cost", nano(usage.cost), usageEvents.reduce((total, event) => total + nano(event.cost), 0n)],
  ];
  for (const [name, total, events] of sums)
    if (total !== events) yield `the session's ${name} are ${total}, its events' ${events}`;
}

function* falseCatalog({ listed, described }: Seen): Generator<string> {
  for (const [name, value] of Object.entries(listed)) {
    const own: unknown = Object.entries(described).find(([key]) => key === name)?.[1];
    if (JSON.stringify(value) !== JSON.stringify(own))
      yield `the catalog's ${name} is ${JSON.stringify(value)}, the session's ${JSON.stringify(own)}`;
  }
}

export function violations(acknowledged: Acknowledged, seen: Seen): string[] {
  return [
    ...lostMessages(acknowledged, seen),
    ...falseOverlays(seen),
    ...falseHistory(seen),
    ...doubleJobs(seen),
    ...falseSums(acknowledged, seen),
    ...falseCatalog(seen),
  ];
}
