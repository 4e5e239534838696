/**
 * Rules of the code that neither the linter nor the import rules can state. Called by `npm run check` for
 * every file of the repository. Pure: paths and texts in, sentences out.
 */
export type SourceFile = { readonly path: string; readonly text: string };

const CODE = /\.(ts|mjs|cjs)$/;
/** Written by wrangler. */
const GENERATED = /worker-configuration\.d\.ts$/;
const DRAWER = /(^|\/)(utils?|helpers?|common|lib|misc|core|types)(\.ts$|\/)/;
const RE_EXPORT = /^export (type )?(\*|\{[^}]*\})[^;]* from /;

const FORBIDDEN: readonly (readonly [pattern: RegExp, why: string])[] = [
  [/\btransaction\(\s*async\b/, "awaits in a transaction: other work would run between its writes"],
  [/(oxlint|eslint)-disable|@ts-(ignore|nocheck|expect-error)/, "switches a check off"],
  [/\b(TODO|FIXME|XXX):?\s/, "leaves something to do: do it, or write an issue"],
  [/["'`\s](\/home|\/root|\/Users)\/\w/, "names a folder of one machine"],
];

/** A worker's entry must export its objects and entrypoints; another file that only hands on is a barrel. */
const ENTRY = /^workers\/[^/]+\/src\/index\.ts$/;

/** True when every statement hands on another file's names. */
function isBarrel(text: string): boolean {
  const statements = text
    .replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "")
    .split(";")
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
  return statements.length > 0 && statements.every((statement) => RE_EXPORT.test(statement));
}

/** What is wrong with the file; [] when nothing is. */
export function brokenRules({ path, text }: SourceFile): string[] {
  if (!CODE.test(path) || GENERATED.test(path)) return [];
  const problems = FORBIDDEN.flatMap(([pattern, why]) => (pattern.test(text) ? [why] : []));
  if (DRAWER.test(path)) problems.push("has no name of its own");
  if (!ENTRY.test(path) && isBarrel(text)) problems.push("only hands on other files' names");
  return problems;
}
