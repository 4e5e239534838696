/** The first half of an import: lines are checked one by one and kept, their bytes apart. */
import { type Problem, fieldProblem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { StageLines, StagedLine } from "@sessionplane/shared/rpc/session-rpc";
import type { MessageLine } from "@sessionplane/shared/transfer";
import { type Uploads, draftFor, isLarge } from "@sessionplane/engine/messages/intake";
import type { MediaStore } from "@sessionplane/engine/storage/sqlite/media-store";
import type { StagedContext } from "./stage-context.ts";
import type { StagedLeftOut, Staging } from "./staging.ts";

/** A refusal that says where in the import it is. */
export const atLine = (line: number, refusal: Problem): Problem => ({
  ...refusal,
  fields: { ...refusal.fields, line },
});

function stageMessage(
  staging: Staging,
  media: MediaStore,
  input: StageLines,
  { line, entry }: { readonly line: number; readonly entry: MessageLine },
  uploads: Uploads,
): Problem | null {
  const draft = draftFor(media, entry.message, { sessionId: input.session_id, seq: null, at: "/message" });
  if (!draft.ok) return draft.error;
  const { left, pieces } = draft.value;
  for (const one of left.media) {
    if (media.find(one.id) === null) media.keep(one, isLarge(one) ? (uploads.get(one.id) ?? null) : null);
  }
  const { position = line, parent_id, created_at: createdAt, unloaded = [] } = entry;
  const leftOut: StagedLeftOut = { refs: left.refs, tokens: left.tokens, inlineBytes: left.inlineBytes, unloaded };
  const staged = staging.addMessage(
    {
      id: entry.message.id,
      line,
      position,
      parent_id,
      created_at: createdAt === undefined ? null : Date.parse(createdAt),
      left_out: JSON.stringify(leftOut),
    },
    pieces,
  );
  return staged ? null : fieldProblem("duplicate_message_id", "/message/id", `${entry.message.id} is on an earlier line too`);
}

/** Where lines go: what is made of messages and overlays when all are there, and what is kept at once. */
export type Stages = { readonly staging: Staging; readonly media: MediaStore; readonly context: StagedContext };

const stageOne = (
  { staging, media, context }: Stages,
  input: StageLines,
  staged: StagedLine,
  uploads: Uploads,
): Problem | null => {
  const { line, entry } = staged;
  if (entry.kind === "message") return stageMessage(staging, media, input, { line, entry }, uploads);
  if (entry.kind !== "overlay") return context.add(line, entry);
  return staging.addOverlay(line, entry) ? null : fieldProblem("invalid", "/overlay/id", "is on an earlier line too");
};

/** In one transaction (the caller's): a refusal leaves the lines before it, which are forgotten with the import. */
export function stage(stages: Stages, input: StageLines, uploads: Uploads): Result<null, Problem> {
  for (const staged of input.lines) {
    const refused = stageOne(stages, input, staged, uploads);
    if (refused !== null) return err(atLine(staged.line, refused));
  }
  return ok(null);
}
