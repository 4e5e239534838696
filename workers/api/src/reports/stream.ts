/**
 * A report sent as it is read. What fails before the first line is a reply of its own; what fails later breaks
 * the stream off, so that nobody takes a part for the whole.
 */
import type { ReportTotals } from "@sessionplane/shared/report";
import { logError } from "../log.ts";
import type { Interval } from "./buckets.ts";
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
export async function streamReport<Row>(
  pages: AsyncIterable<ReportPage>,
  fold: Fold<Row>,
  format: ReportFormat<Row>,
): Promise<ReadableStream<Uint8Array>> {
  const texts = textOf(pages, fold, format);
  const encoder = new TextEncoder();
  let next = await texts.next();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        // An empty chunk would be no answer to a pull.
        while (next.done !== true && next.value === "") next = await texts.next();
        if (next.done === true) return controller.close();
        controller.enqueue(encoder.encode(next.value));
        next = { done: false, value: "" };
      } catch (error) {
        logError("report_broken_off", error);
        controller.error(error);
      }
    },
    async cancel() {
      await texts.return(undefined);
    },
  });
}
