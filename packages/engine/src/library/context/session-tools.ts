/**
 * Tools as the AI SDK takes them: `generateText({ tools: { ...(await session.tools()), ...others } })`. A call is
 * always answered with a text, since one that is not would break the conversation.
 */
import type * as z from "zod";
import type { ToolAnswer } from "../../context/run-tool.ts";
import type { ToolDefinition, ToolName } from "../../context/tools.ts";
import { logError } from "../log.ts";

export type SessionTool = {
  readonly description: string;
  readonly inputSchema: z.ZodObject;
  /** What the model is told. Begins with `Error: ` when the call came to nothing; never rejects. */
  readonly execute: (args: unknown) => Promise<string>;
};
/** By name. */
export type SessionTools = Record<string, SessionTool>;

type Run = (name: ToolName, args: unknown) => Promise<ToolAnswer>;

const FAILED = "Error: this could not be done, since the storage behind it failed. It may work later.";

/** `run` rejects only when a storage does. */
export function sessionTools(definitions: readonly ToolDefinition[], run: Run): SessionTools {
  const toolOf = ({ name, description, schema }: ToolDefinition): SessionTool => ({
    description,
    inputSchema: schema,
    execute: async (args) => {
      try {
        return (await run(name, args)).output;
      } catch (error) {
        logError("context_tool_failed", error);
        return FAILED;
      }
    },
  });
  return Object.fromEntries(definitions.map((definition) => [definition.name, toolOf(definition)]));
}
