/** Structured log lines: the only place that writes to the console. Never a message's text, never a key. */
type Fields = Readonly<Record<string, string | number | boolean | null>>;

const describe = (error: unknown): string => (error instanceof Error ? `${error.name}: ${error.message}` : String(error));

export const logInfo = (event: string, fields: Fields = {}): void =>
  console.log(JSON.stringify({ level: "info", event, ...fields }));

export const logError = (event: string, error: unknown, fields: Fields = {}): void =>
  console.error(JSON.stringify({ level: "error", event, error: describe(error), ...fields }));
