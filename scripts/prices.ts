/** `npm run prices`: brings a running plane's price book up to the packaged one, after showing what would change. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readOptions, stopWith } from "./options.ts";
import { PLANE_FOLDER } from "./plane.ts";
import { importPriceBook, priceBook } from "./price-book.ts";

const HELP = `
Shows what the packaged price book would add to the running plane, and adds it with --apply.

  npm run prices -- [--apply]
`;

const { values } = readOptions(HELP, { apply: { type: "boolean", default: false } });
const file = join(PLANE_FOLDER, "dev.json");
if (!existsSync(file)) stopWith("no plane is running here. Start one with npm start.");
const { url, operator_key: key } = JSON.parse(readFileSync(file, "utf8")) as { url: string; operator_key: string };

const book = priceBook();
const plan = await importPriceBook(url, key, book, true);
process.stdout.write(`${plan.created} new, ${plan.unchanged} unchanged, ${plan.conflicts.length} conflicts\n`);
for (const { line, message } of plan.conflicts) process.stdout.write(`  ${JSON.stringify(book.prices[line - 1])}: ${message}\n`);
process.stdout.write(`\nNot expressible here:\n${book.notExpressed.map((one) => `  ${one}\n`).join("")}`);
if (values.apply) {
  const done = await importPriceBook(url, key, book, false);
  process.stdout.write(`\nadded ${done.created}\n`);
}
