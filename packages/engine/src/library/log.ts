/** What the library has to say and nobody took: one line of JSON on the console. Never a message's content. */
export function logError(what: string, error: unknown): void {
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  console.error(JSON.stringify({ level: "error", event: what, reason }));
}
