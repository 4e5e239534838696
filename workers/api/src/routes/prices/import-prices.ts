/**
 * `POST /v1/prices/import`: prices as NDJSON, one a line. All or nothing: when a line is invalid or
 * conflicts, no line is written. Repeating an import changes nothing.
 */
import type { Context } from "hono";
import * as z from "zod";
import { findJsonFault } from "@sessionplane/shared/json";
import { newPriceSchema } from "@sessionplane/shared/price";
import { type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { forgetPrices } from "../../billing/price-book.ts";
import { type CatalogDb, connect } from "../../catalog/db.ts";
import {
  PLANE,
  type PriceEntry,
  compareEntries,
  insertEntries,
  momentOf,
  toEntry,
  unknownTenants,
} from "../../catalog/price-entries.ts";
import type { AppEnv } from "../../env.ts";
import { auditOf } from "../../http/audit.ts";
import { flagSchema } from "../../http/list-query.ts";
import { type NdjsonFault, NdjsonReader } from "../../http/ndjson.ts";
import { validationProblem } from "../../http/problems.ts";
import { type App, json, operatorRoute, reply } from "../../http/routes.ts";

/** About 80,000 prices: what one D1 batch and an isolate's memory take easily. */
const LIMITS = { maxBytes: 16 * 1024 * 1024, maxLineBytes: 8 * 1024 };
/** Lines that a reply tells of, of each kind. */
const MAX_REPORTED_LINES = 100;

const query = z.strictObject({ dry_run: flagSchema.meta({ description: "1: say what would happen" }) });

const importSchema = z
  .object({
    created: z.int(),
    unchanged: z.int(),
    conflicts: z.array(z.object({ line: z.int(), message: z.string() })),
    invalid: z.array(z.object({ line: z.int(), pointer: z.string(), message: z.string() })),
    dry_run: z.boolean(),
  })
  .meta({ id: "PriceImport" });
type Import = z.infer<typeof importSchema>;

type Refusal = { readonly pointer: string; readonly message: string };
type Line = { readonly line: number; readonly entry: PriceEntry };

const FAULTS: Record<NdjsonFault, string> = {
  too_long: `is longer than ${LIMITS.maxLineBytes} bytes`,
  not_utf8: "is not UTF-8",
};

function parseLine(text: string): Result<PriceEntry, Refusal> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return err({ pointer: "", message: "is not JSON" });
  }
  const fault = findJsonFault(value);
  if (fault !== null) return err({ pointer: fault.pointer, message: fault.code });
  const parsed = newPriceSchema.safeParse(value);
  if (parsed.success) return ok(toEntry(parsed.data));
  const { errors: [first] = [] } = validationProblem("json", parsed.error);
  return err({ pointer: first?.pointer ?? "", message: first?.message ?? "is no price" });
}

async function readLines(
  body: ReadableStream<Uint8Array>,
): Promise<Result<{ lines: Line[]; invalid: Import["invalid"] }, Problem>> {
  const lines: Line[] = [];
  const invalid: Import["invalid"] = [];
  const reader = new NdjsonReader(body, LIMITS);
  for await (const read of reader) {
    const parsed = "text" in read ? parseLine(read.text) : err({ pointer: "", message: FAULTS[read.fault] });
    if (parsed.ok) lines.push({ line: read.line, entry: parsed.value });
    else invalid.push({ line: read.line, ...parsed.error });
    // It won't be written, and this is as much as is told.
    if (invalid.length === MAX_REPORTED_LINES) break;
  }
  if (reader.tooLarge) return err(problem("body_too_large", `The import has more than ${LIMITS.maxBytes} bytes.`));
  return ok({ lines, invalid });
}

/** Lines that name a tenant who is not there. */
async function ofUnknownTenants(db: CatalogDb, lines: readonly Line[]): Promise<Import["invalid"]> {
  const named = new Set(lines.map(({ entry }) => entry.tenant));
  named.delete(PLANE);
  const unknown = await unknownTenants(db, [...named]);
  return lines
    .filter(({ entry }) => unknown.has(entry.tenant))
    .map(({ line }) => ({ line, pointer: "/tenant_id", message: "is no tenant" }));
}

type Sorted = { readonly added: PriceEntry[]; readonly unchanged: number; readonly conflicts: Import["conflicts"] };

/** Against what is there, and against the lines before it. */
async function sortLines(db: CatalogDb, lines: readonly Line[]): Promise<Sorted> {
  const verdicts = await compareEntries(
    db,
    lines.map(({ entry }) => entry),
  );
  const seen = new Map<string, Line>();
  const added: PriceEntry[] = [];
  const conflicts: Import["conflicts"] = [];
  let unchanged = 0;
  for (const [index, { line, entry }] of lines.entries()) {
    const moment = momentOf(entry);
    const earlier = seen.get(moment);
    seen.set(moment, earlier ?? { line, entry });
    if (verdicts[index] === "conflict") conflicts.push({ line, message: "another amount holds from this instant on" });
    else if (earlier !== undefined && earlier.entry.femto !== entry.femto)
      conflicts.push({ line, message: `line ${earlier.line} has another amount from this instant on` });
    else if (verdicts[index] === "unchanged" || earlier !== undefined) unchanged += 1;
    else added.push(entry);
  }
  return { added, unchanged, conflicts };
}

async function importPrices(
  c: Context<AppEnv>,
  body: ReadableStream<Uint8Array>,
  dryRun: boolean,
): Promise<Result<Import, Problem>> {
  const read = await readLines(body);
  if (!read.ok) return read;
  const db = connect(c.env.CATALOG);
  const { lines } = read.value;
  const invalid = [...read.value.invalid, ...(await ofUnknownTenants(db, lines))];
  const { added, unchanged, conflicts } = await sortLines(db, lines);
  const clean = invalid.length === 0 && conflicts.length === 0;
  if (clean && !dryRun && added.length > 0) {
    await insertEntries(db, added, auditOf(c, "prices.import", `${added.length} prices`, null));
    forgetPrices();
  }
  return ok({
    created: clean ? added.length : 0,
    unchanged,
    conflicts: conflicts.slice(0, MAX_REPORTED_LINES),
    invalid: invalid.toSorted((a, b) => a.line - b.line).slice(0, MAX_REPORTED_LINES),
    dry_run: dryRun,
  });
}

export const registerImportPrices = (app: App) =>
  app.openapi(
    operatorRoute("prices:write", {
      method: "post",
      path: "/v1/prices/import",
      summary: "Import prices",
      description: "NDJSON, a price a line. When a line is invalid or conflicts, nothing is written.",
      tags: ["Prices"],
      request: { query, body: { required: true, content: { "application/x-ndjson": { schema: z.string() } } } },
      responses: { 200: json(importSchema, "What was done, or would be") },
    }),
    async (c) => {
      const { body } = c.req.raw;
      if (!(c.req.header("Content-Type") ?? "").startsWith("application/x-ndjson") || body === null) {
        return reply(c, err(problem("unsupported_media_type", "Send the prices as application/x-ndjson.")));
      }
      return reply(c, await importPrices(c, body, c.req.valid("query").dry_run));
    },
  );
