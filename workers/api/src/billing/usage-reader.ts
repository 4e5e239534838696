/**
 * Reads counts out of one usage report and gathers what is wrong with it: counts that are none, so that a
 * refusal names every field, and sums that differ, which are told and do not count twice. Used by the shapes
 * alone; knows nothing of them.
 */
import type { FieldProblem } from "@sessionplane/shared/problem";
import { TOKEN_CLASSES } from "@sessionplane/shared/price";
import type { UsageCounts } from "@sessionplane/shared/usage-event";

export type UsageReport = Readonly<Record<string, unknown>>;

export const isReport = (value: unknown): value is UsageReport =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const sum = (counts: readonly (number | undefined)[]): number =>
  counts.reduce<number>((total, count) => total + (count ?? 0), 0);

export class UsageReader {
  readonly errors: FieldProblem[] = [];
  /** What does not add up, a sentence each. */
  readonly inconsistent: string[] = [];
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
   * The total at `path` as its parts and the class of what is left of it, `stated` where the report says how much
   * that is. They never add up to more than the total: what is left gives way first, then the parts, the last of
   * `TOKEN_CLASSES` before the first. Without a total the parts stand as they are.
   */
  split(path: string, rest: (typeof TOKEN_CLASSES)[number], parts: UsageCounts, stated?: number): UsageCounts {
    const whole = this.count(path);
    if (whole === undefined) return { ...parts, [rest]: stated ?? 0 };
    let left = whole;
    const counts: Partial<Record<keyof UsageCounts, number>> = {};
    for (const name of TOKEN_CLASSES) {
      const part = parts[name];
      if (part === undefined) continue;
      counts[name] = Math.min(part, left);
      left -= counts[name];
    }
    const told = sum(Object.values(parts));
    if (told > whole || (stated !== undefined && told + stated !== whole)) this.differs(path, whole, told + (stated ?? 0));
    return { ...counts, [rest]: left };
  }

  /** Told, and no reason to refuse: the call was made, and its report is all that is known of it. */
  differs(path: string, stated: number, added: number): void {
    this.inconsistent.push(`${path} is ${stated}, but its parts add up to ${added}`);
  }

  #checked(value: unknown, path: readonly string[]): number | undefined {
    if (value === undefined || value === null) return undefined;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
    const message = `must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`;
    this.errors.push({ pointer: `/usage/${path.join("/")}`, code: "invalid_count", message });
    return 0;
  }
}
