/** Structured log lines: the only place that writes to the console. Never a secret, a key or a message's text. */
type Fields = Readonly<Record<string, string | number | boolean | null>>;

/** D1's errors quote the statement's parameters after this mark: they may hold anything. */
const PARAMETERS = /\nparams:[\s\S]*$/;

const describe = (error: unknown): string =>
  (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).replace(PARAMETERS, "");

export const logInfo = (event: string, fields: Fields = {}): void =>
  console.log(JSON.stringify({ level: "info", event, ...fields }));

export const logError = (event: string, error: unknown, fields: Fields = {}): void =>
  console.error(JSON.stringify({ level: "error", event, error: describe(error), ...fields }));
