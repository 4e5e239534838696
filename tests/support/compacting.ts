/** A session under compaction over HTTP: what tests do to it, and all that is to be seen of it when it is at rest. */
import { type Plane, type Tenant, text, until } from "./harness.ts";
import { type Seen, type SeenOverlay, type Shown, violations } from "./history-checker.ts";
import type { startModelServer } from "./model-server.ts";

export type Job = {
  readonly id: string;
  readonly state: string;
  readonly trigger: string;
  readonly attempts: number;
  readonly overlay_id: string | null;
  readonly from_id: string;
  readonly to_id: string;
  readonly leaf_id: string;
  readonly renews_overlay_id: string | null;
  readonly error: { readonly code: string } | null;
};
export type Overlay = SeenOverlay & { readonly summary: string; readonly stale: boolean; readonly job_id: string | null };
type Message = { readonly id: string; readonly parts: readonly { readonly text?: string }[] };
type History = {
  readonly data: Message[];
  readonly meta: { readonly token_estimate: number }[];
  readonly next_cursor: string | null;
};
type Model = Awaited<ReturnType<typeof startModelServer>>;

export const line = (index: number) =>
  text(
    `m${index}`,
    index % 2 === 0 ? "user" : "assistant",
    `Item K${index}9 costs $${index}.10. ${"It was talked about for a while. ".repeat(6)}`,
  );
export const lines = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => line(from + index));

const OPEN = ["queued", "running"];
const WAIT_MS = 60_000;

/** Fields that the catalog keeps otherwise, or not at all. */
const OBJECTS_OWN = ["compaction", "updated_at"];

/** The events of a session's stream up to the newest that there is. */
async function readEvents(plane: Plane, tenant: Tenant, id: string): Promise<{ type: string; data: Record<string, string> }[]> {
  const [head] = await plane.objectRows<{ seq: number | null }>(tenant, id, "SELECT max(seq) AS seq FROM events");
  if (head?.seq === null || head === undefined) return [];
  const abort = new AbortController();
  const response = await fetch(new URL(`/v1/sessions/${id}/events?after=0`, plane.url), {
    headers: { Authorization: `Bearer ${tenant.key}` },
    signal: abort.signal,
  });
  const events: { type: string; data: Record<string, string> }[] = [];
  let rest = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const blocks = (rest + chunk).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
      const type = field("event");
      if (type !== undefined) events.push({ type, data: JSON.parse(field("data") ?? "{}") });
      if (Number(field("id")) >= head.seq) {
        abort.abort();
        return events;
      }
    }
  }
  return events;
}

export class Compacting {
  readonly id: string;
  readonly path: string;
  readonly #plane: Plane;
  readonly #tenant: Tenant;
  readonly #model: Model;
  readonly #completedBefore: number;
  /** What was acknowledged: the text of each message that should be there. */
  readonly written = new Map<string, string>();

  private constructor(plane: Plane, tenant: Tenant, model: Model, id: string) {
    this.#plane = plane;
    this.#tenant = tenant;
    this.#model = model;
    this.#completedBefore = model.completed();
    this.id = id;
    this.path = `/v1/sessions/${id}`;
  }

  /** With so many messages. No other session of the plane may be at work. */
  static async open(plane: Plane, tenant: Tenant, model: Model, count = 20, body: object = {}): Promise<Compacting> {
    const session = new Compacting(plane, tenant, model, await plane.session(tenant, body));
    if (count > 0) await session.append(...lines(0, count));
    return session;
  }

  call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const reply = await this.#tenant.call<T>(method, this.path + path, body);
    if (reply.status >= 400) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body;
  };

  async append(...messages: ReturnType<typeof line>[]): Promise<void> {
    await this.call("POST", "/messages", { messages });
    for (const { id, parts } of messages) this.written.set(id, parts[0]?.text ?? "");
  }

  async edit(id: string, content: string): Promise<void> {
    await this.call("PUT", `/messages/${id}`, { message: { role: "user", parts: [{ type: "text", text: content }] } });
    this.written.set(id, content);
  }

  async remove(id: string): Promise<void> {
    await this.call("DELETE", `/messages/${id}`);
    this.written.delete(id);
  }

  compact = (body: object = {}): Promise<Job> => this.call<Job>("POST", "/compactions", body);
  job = (id: string): Promise<Job> => this.call<Job>("GET", `/compaction-jobs/${id}`);
  jobs = (): Promise<Job[]> => this.#all<Job>("/compaction-jobs");
  overlays = (): Promise<Overlay[]> => this.#all<Overlay>("/compactions");
  die = (point: string): Promise<void> => this.#plane.armFault(this.#tenant, this.id, point);

  /** It is awake first: one that is not can't be evicted. */
  async evict(): Promise<void> {
    await this.call("GET", "");
    await this.#plane.evict(this.#tenant, this.id);
  }

  /** Every page of a list. */
  async #all<T>(path: string): Promise<T[]> {
    const found: T[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const next: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const page: { data: T[]; next_cursor: string | null } = await this.call("GET", `${path}?limit=100${next}`);
      found.push(...page.data);
      cursor = page.next_cursor;
    }
    return found;
  }

  async shown(query = ""): Promise<string[]> {
    return (await this.call<History>("GET", `/messages?limit=100${query}`)).data.map(({ id }) => id);
  }

  /** The model has been asked so many times more than `before`. */
  async asked(times = 1): Promise<void> {
    await until("the model to be asked", async () => this.#model.prompts.length >= times);
  }

  async ended(id: string): Promise<Job> {
    const find = async () => {
      const job = await this.job(id);
      return !OPEN.includes(job.state) && job;
    };
    return until("the job to end", find, WAIT_MS);
  }

  /** A claim whose reply was lost holds its lease: it is put back as if five minutes had passed. */
  async endedThroughLostClaims(id: string): Promise<Job> {
    const find = async () => {
      const job = await this.job(id);
      if (job.state === "running") {
        const sql = "UPDATE jobs SET lease_until = 1 WHERE state = 'running' RETURNING id";
        await this.#plane.objectRows(this.#tenant, this.id, sql);
        await this.evict();
      }
      return !OPEN.includes(job.state) && job;
    };
    return until("the job to end", find, WAIT_MS);
  }

  /** No job is open, nothing is on its way, and the catalog has heard of everything. */
  async rested(): Promise<void> {
    const open = "SELECT 1 FROM jobs WHERE state IN ('queued', 'running')";
    const behind = `SELECT 1 FROM session WHERE projected_seq < max(
      (SELECT coalesce(max(seq), 0) FROM events), (SELECT coalesce(max(seq), 0) FROM usage_events),
      (SELECT changed_seq FROM tree), (SELECT coalesce(max(seq), 0) FROM jobs), (SELECT coalesce(max(seq), 0) FROM messages))`;
    const isQuiet = async (sql: string) => (await this.#plane.objectRows(this.#tenant, this.id, sql)).length === 0;
    await until("no job to be open", () => isQuiet(open), WAIT_MS);
    await until("the model to have answered", async () => !this.#model.busy());
    await until("every answer to be billed", async () => (await this.usageEvents()).length >= this.completions());
    await until("the catalog to follow", () => isQuiet(behind), WAIT_MS);
  }

  completions = (): number => this.#model.completed() - this.#completedBefore;

  usageEvents = (): Promise<Seen["usageEvents"][number][]> => this.#all("/usage/events");

  async #messages(view: "raw" | "history"): Promise<Shown[]> {
    const found: Shown[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const next: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const page: History = await this.call("GET", `/messages?limit=100&view=${view}${next}`);
      for (const [index, { id, parts }] of page.data.entries()) {
        const tokens = page.meta[index]?.token_estimate ?? 0;
        found.push({ id, text: parts.map((part) => part.text ?? "").join(""), tokens });
      }
      cursor = page.next_cursor;
    }
    return found;
  }

  async seen(): Promise<Seen> {
    const described = await this.call<{ token_estimate: number; usage: Seen["usage"] }>("GET", "");
    const list = await this.#tenant.call<{ data: { id: string }[] }>("GET", "/v1/sessions?limit=100");
    const listed = Object.entries(list.body.data.find(({ id }) => id === this.id) ?? {});
    const events = await readEvents(this.#plane, this.#tenant, this.id);
    return {
      raw: await this.#messages("raw"),
      history: await this.#messages("history"),
      tokenEstimate: described.token_estimate,
      overlays: await this.overlays(),
      told: events.flatMap(({ type, data }) =>
        type === "compaction" ? [{ job_id: data["job_id"] ?? "", state: data["state"] ?? "" }] : [],
      ),
      usageEvents: await this.usageEvents(),
      usage: described.usage,
      listed: Object.fromEntries(listed.filter(([name]) => !OBJECTS_OWN.includes(name))),
      described,
    };
  }

  /** At rest, nothing is lost, double or claimed that is not so. */
  async expectSound(): Promise<Seen> {
    await this.rested();
    const seen = await this.seen();
    const found = violations({ written: this.written, completions: this.completions() }, seen);
    if (found.length > 0) throw new Error(found.join("\n"));
    return seen;
  }
}
