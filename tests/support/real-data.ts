/** The real conversations beside the project, for whoever has them. They are no part of it. */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const FOLDER = resolve(import.meta.dirname, "../../../shared/data");

/** The file's text, or null with a word on why its tests are skipped. */
export function realData(name: string): string | null {
  const file = join(FOLDER, name);
  if (existsSync(file)) return readFileSync(file, "utf8");
  console.log(`skipped: ../shared/data/${name} is not here`);
  return null;
}
