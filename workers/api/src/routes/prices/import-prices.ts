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
import { recordAudit } from "../../catalog/audit-events.ts";
import { connect } from "../../catalog/db.ts";
import { type PriceEntry, compareEntries, insertEntries, toEntry } from "../../catalog/prices.ts";
import type { AppEnv } from "../../env.ts";
import { auditOf } from "../../http/audit.ts";
import { flagSchema } from "../../http/list-query.ts";
import { NdjsonReader } from "../../http/ndjson.ts";
import { type App, json, operatorRoute, reply } from "../../http/routes.ts";

const MAX_IMPORT_BYTES = 32 * 1024 * 1024;
/** Keeps the JSON parameter of one statement well below D1's 2 MB. */
const ENTRIES_PER_STATEMENT = 2_000;
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

function parseLine(text: string): Result<PriceEntry, { pointer: string; message: string }> {
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
  const [issue] = parsed.error.issues;
  return err({ pointer: `/${issue?.path.join("/") ?? ""}`, message: issue?.message ?? "is no price" });
}

const inChunks = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, index) => all.slice(index * size, (index + 1) * size));

type Line = { readonly line: number; readonly entry: PriceEntry };

async function readLines(
  body: ReadableStream<Uint8Array>,
): Promise<Result<{ lines: Line[]; invalid: Import["invalid"] }, Problem>> {
  const lines: Line[] = [];
  const invalid: Import["invalid"] = [];
  const reader = new NdjsonReader(body, MAX_IMPORT_BYTES);
  for await (const { line, text } of reader) {
    const parsed = parseLine(text);
    if (parsed.ok) lines.push({ line, entry: parsed.value });
    else if (invalid.length < MAX_REPORTED_LINES) invalid.push({ line, ...parsed.error });
  }
  if (reader.tooLarge) return err(problem("body_too_large", `The import has more than ${MAX_IMPORT_BYTES} bytes.`));
  return ok({ lines, invalid });
}

async function importPrices(
  c: Context<AppEnv>,
  body: ReadableStream<Uint8Array>,
  dryRun: boolean,
): Promise<Result<Import, Problem>> {
  const read = await readLines(body);
  if (!read.ok) return read;
  const { lines, invalid } = read.value;
  const added: PriceEntry[] = [];
  const conflicts: Import["conflicts"] = [];
  let unchanged = 0;
  for (const chunk of inChunks(lines, ENTRIES_PER_STATEMENT)) {
    const verdicts = await compareEntries(
      c.env.CATALOG,
      chunk.map(({ entry }) => entry),
    );
    chunk.forEach(({ line, entry }, index) => {
      if (verdicts[index] === "new") added.push(entry);
      else if (verdicts[index] === "unchanged") unchanged += 1;
      else if (conflicts.length < MAX_REPORTED_LINES)
        conflicts.push({ line, message: "another amount holds from this instant on" });
    });
  }
  const clean = invalid.length === 0 && conflicts.length === 0;
  if (clean && !dryRun && added.length > 0) {
    for (const chunk of inChunks(added, ENTRIES_PER_STATEMENT)) await insertEntries(c.env.CATALOG, chunk);
    await recordAudit(connect(c.env.CATALOG), auditOf(c, "prices.import", `${added.length} prices`, null));
    forgetPrices();
  }
  return ok({ created: clean ? added.length : 0, unchanged, conflicts, invalid, dry_run: dryRun });
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
