/**
 * Reads counts out of one usage report and gathers what is wrong with it, so that a refusal names every
 * field. Used by the shapes alone; knows nothing of them.
 */
import type { FieldProblem } from "@sessionplane/shared/problem";

export type UsageReport = Readonly<Record<string, unknown>>;

export const isReport = (value: unknown): value is UsageReport =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const sum = (counts: readonly (number | undefined)[]): number =>
  counts.reduce<number>((total, count) => total + (count ?? 0), 0);

export class UsageReader {
  readonly errors: FieldProblem[] = [];
  readonly #report: UsageReport;

  constructor(report: UsageReport) {
    this.#report = report;
  }

  #valueAt(path: readonly string[]): unknown {
    let value: unknown = this.#report;
    for (const key of path) value = isReport(value) ? value[key] : undefined;
    return value;
  }

  /** The count at a path of keys; undefined when it is absent or null. */
  count(...path: string[]): number | undefined {
    return this.#checked(this.#valueAt(path), path);
  }

  /** The first of these that is there: newer names before older ones. */
  first(...paths: readonly string[][]): number | undefined {
    for (const path of paths) {
      const found = this.count(...path);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The count of one modality in a list of `{modality, tokenCount}`. */
  modality(list: string, modality: string): number | undefined {
    const entries = this.#valueAt([list]);
    if (!Array.isArray(entries)) return undefined;
    const index = entries.findIndex((entry) => isReport(entry) && entry["modality"] === modality);
    const entry: unknown = entries[index];
    return isReport(entry) ? this.#checked(entry["tokenCount"], [list, String(index), "tokenCount"]) : undefined;
  }

  /**
   * What is left of the total at `path` when its parts are taken out. `stated` is what the report says is
   * left, where it does; it stands in for a total that is absent.
   */
  rest(path: string, parts: readonly (number | undefined)[], stated?: number): number {
    const whole = this.count(path);
    if (whole === undefined) return stated ?? 0;
    const left = whole - sum(parts);
    if (left >= 0 && (stated === undefined || stated === left)) return left;
    this.inconsistent(path, `is ${whole}, but its parts add up to ${sum([...parts, stated])}`);
    return 0;
  }

  inconsistent(field: string, message: string): void {
    this.errors.push({ pointer: `/usage/${field}`, code: "inconsistent_usage", message });
  }

  #checked(value: unknown, path: readonly string[]): number | undefined {
    if (value === undefined || value === null) return undefined;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
    const message = `must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`;
    this.errors.push({ pointer: `/usage/${path.join("/")}`, code: "invalid_count", message });
    return 0;
  }
}
