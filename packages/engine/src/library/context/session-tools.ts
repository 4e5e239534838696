/**
 * Tools as the AI SDK takes them: `generateText({ tools: { ...(await session.tools()), ...others } })`. A call is
 * always answered with a text, since one that is not would break the conversation.
 */
import type * as z from "zod";
import { type ToolTarget, runTool } from "../../context/run-tool.ts";
import type { ToolDefinition } from "../../context/tools.ts";
import { logError } from "../log.ts";

export type SessionTool = {
  readonly description: string;
  readonly inputSchema: z.ZodObject;
  /** What the model is told. Begins with `Error: ` when the call came to nothing; never rejects. */
  readonly execute: (args: unknown) => Promise<string>;
};
/** By name. */
export type SessionTools = Record<string, SessionTool>;

const FAILED = "Error: this could not be done, since the storage behind it failed. It may work later.";

export function sessionTools(definitions: readonly ToolDefinition[], target: ToolTarget): SessionTools {
  const toolOf = ({ name, description, schema }: ToolDefinition): SessionTool => ({
    description,
    inputSchema: schema,
    execute: async (args) => {
      try {
        return (await runTool(target, name, args)).output;
      } catch (error) {
        logError("context_tool_failed", error);
        return FAILED;
      }
    },
  });
  return Object.fromEntries(definitions.map((definition) => [definition.name, toolOf(definition)]));
}
