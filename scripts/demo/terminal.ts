/** Tables and a progress bar for a terminal. */
const BAR_WIDTH = 30;

/** A line that is written over while work goes on; a plain line at the end where there is no terminal. */
export function progress(label: string, done: number, total: number): void {
  const share = total === 0 ? 1 : done / total;
  const bar = "#".repeat(Math.round(share * BAR_WIDTH)).padEnd(BAR_WIDTH, ".");
  const line = `${label} [${bar}] ${done}/${total}`;
  if (process.stderr.isTTY) process.stderr.write(`\r${line}${done === total ? "\n" : ""}`);
  else if (done === total) process.stderr.write(`${line}\n`);
}

/** Rows under their heads, numbers to the right. */
export function table(heads: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const widths = heads.map((head, column) => Math.max(head.length, ...rows.map((row) => String(row[column]).length)));
  const line = (cells: readonly (string | number)[]) =>
    cells
      .map((cell, column) =>
        typeof cell === "number" ? String(cell).padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd();
  return [line(heads), widths.map((width) => "-".repeat(width)).join("  "), ...rows.map(line)].join("\n");
}
