/** Merging what came of a tool call into its part of a message. Pure. States: those of the AI SDK's tool parts. */
import { type Message, type Source, type ToolPatch, type ToolState, isToolPart } from "@sessionplane/shared/message";
import { type Problem, fieldProblem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";

type Part = Message["parts"][number];

/** Before these, a call has no result. */
const OPEN: readonly (ToolState | undefined)[] = [
  "input-streaming",
  "input-available",
  "approval-requested",
  "approval-responded",
];
/** What a client may answer to a call that the server opened. */
const FROM_CLIENT: readonly ToolState[] = ["approval-responded", "output-available", "output-error", "output-denied"];

const hasResult = (part: Part): boolean => {
  if (part["preliminary"] === true) return false;
  const state = part["state"];
  return state === undefined ? "output" in part || "result" in part : !OPEN.includes(state as ToolState);
};

/** A result that comes without a state says by itself which it is. */
function stateOf(patch: ToolPatch): ToolState | undefined {
  if (patch.state !== undefined) return patch.state;
  if (patch.output !== undefined) return "output-available";
  return patch.errorText === undefined ? undefined : "output-error";
}

function merge(part: Part, patch: ToolPatch): Result<Part, Problem> {
  const state = stateOf(patch);
  const merged: Part = { ...part, ...patch, ...(state === undefined ? {} : { state }) };
  // A call has a result or an error, and a result that does not say that it is preliminary is the last.
  if (patch.output !== undefined && patch.preliminary === undefined) delete merged["preliminary"];
  if (patch.output !== undefined) delete merged["errorText"];
  if (patch.errorText !== undefined) delete merged["output"];
  if (merged["state"] === "output-available" && merged["output"] === undefined)
    return err(fieldProblem("invalid", "/output", "the state output-available needs an output"));
  if (merged["state"] === "output-error" && merged["errorText"] === undefined)
    return err(fieldProblem("invalid", "/errorText", "the state output-error needs an errorText"));
  return ok(merged);
}

function checkClient(patch: ToolPatch): Problem | null {
  const state = stateOf(patch);
  if (patch.input !== undefined) return fieldProblem("part_not_allowed", "/input", "a client may not change a call's input");
  if (state === undefined || !FROM_CLIENT.includes(state))
    return fieldProblem("part_not_allowed", "/state", `a client may set ${FROM_CLIENT.join(", ")}`);
  return null;
}

/** `wasAnswered`: the call had a result before. A client may not give it another. */
type Merged = { readonly message: Message; readonly wasAnswered: boolean };

/** The message with the patch merged into the part of its tool call, or why it can't be. */
export function withToolResult(message: Message, patch: ToolPatch, source: Source): Result<Merged, Problem> {
  const index = message.parts.findLastIndex((part) => isToolPart(part) && part["toolCallId"] === patch.toolCallId);
  const part = message.parts[index];
  if (part === undefined)
    return err(fieldProblem("unknown_tool_call", "/toolCallId", `${message.id} has no tool call ${patch.toolCallId}`));
  const merged = merge(part, patch);
  if (!merged.ok) return merged;
  const refused = source === "client" ? checkClient(patch) : null;
  if (refused !== null) return err(refused);
  return ok({ message: { ...message, parts: message.parts.with(index, merged.value) }, wasAnswered: hasResult(part) });
}
