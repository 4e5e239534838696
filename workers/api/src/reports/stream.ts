/** A report sent as it is read: CSV and NDJSON. */
import type { ReportTotals } from "@sessionplane/shared/report";
import { streamText } from "../http/stream-text.ts";
import type { Interval } from "@sessionplane/shared/report";
import { Totals } from "./fold.ts";
import type { ReportPage } from "./pages.ts";
import type { ReportRow } from "./query.ts";

/** `end`: what follows the last row. */
export type ReportFormat<Row> = {
  readonly head: string;
  readonly line: (row: Row) => string;
  readonly end: (totals: ReportTotals) => string;
};
type Fold<Row> = (rows: readonly ReportRow[], buckets: readonly Interval[]) => readonly Row[];

async function* textOf<Row>(
  pages: AsyncIterable<ReportPage>,
  fold: Fold<Row>,
  format: ReportFormat<Row>,
): AsyncGenerator<string> {
  const totals = new Totals();
  let head = format.head;
  for await (const { rows, buckets } of pages) {
    totals.add(rows);
    yield head + fold(rows, buckets).map(format.line).join("");
    head = "";
  }
  yield head + format.end(totals.show());
}

/** Throws when the first page fails. */
export function streamReport<Row>(
  pages: AsyncIterable<ReportPage>,
  fold: Fold<Row>,
  format: ReportFormat<Row>,
): Promise<ReadableStream<Uint8Array>> {
  return streamText(textOf(pages, fold, format), "report_broken_off");
}
