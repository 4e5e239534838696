/** The command line of our commands: `--name value` and `--flag`, with a help text. */
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";

/** The options' values. Prints the help and ends on `--help`; says what is wrong and ends on anything unknown. */
export function readOptions<const T extends ParseArgsOptionsConfig>(help: string, options: T) {
  try {
    const { values, positionals } = parseArgs({
      options: { ...options, help: { type: "boolean", short: "h" } },
      allowPositionals: true,
    });
    if ("help" in values && values.help === true) {
      process.stdout.write(`${help.trim()}\n`);
      process.exit(0);
    }
    return { values, positionals };
  } catch (error) {
    return stopWith(`${error instanceof Error ? error.message : String(error)}\n\n${help.trim()}`);
  }
}

export function stopWith(sentence: string): never {
  process.stderr.write(`\nsessionplane: ${sentence}\n`);
  process.exit(1);
}

export function portOf(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) stopWith(`--port must be a number from 1 to 65535, not ${text}.`);
  return port;
}
