/** Opaque page positions. Base64url of JSON: a caller gives back what it got, anything else is refused. */
import * as z from "zod";
import { type Problem, fieldProblem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { HistoryPlace } from "@sessionplane/shared/rpc/session-rpc";

export const encodeCursor = (position: readonly (string | number)[]): string =>
  Buffer.from(JSON.stringify(position)).toString("base64url");

function decodeCursor(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, "base64url").toString());
  } catch {
    return null;
  }
}

/** A query parameter that holds a position of this shape. */
export const cursorSchema = <T extends z.ZodType>(position: T) =>
  z
    .string()
    .max(1_000)
    .transform((text, ctx): z.output<T> => {
      const parsed = position.safeParse(decodeCursor(text));
      if (parsed.success) return parsed.data;
      ctx.addIssue({ code: "custom", message: "is not a cursor that this list gave" });
      return z.NEVER;
    });

/** Lists ordered by an instant, ties broken by id. */
export const instantCursorSchema = cursorSchema(z.tuple([z.int(), z.string().max(200)]));
/** Lists ordered by a session's log. */
export const seqCursorSchema = cursorSchema(z.tuple([z.int().min(1)])).transform(([seq]) => seq);
/** Reads of a path: of which session, to which leaf, where on it, and from where on messages are whole. */
export const placeCursorSchema = cursorSchema(z.tuple([z.string(), z.int().min(0), z.int().min(0), z.int().min(0).optional()]));
export const encodePlace = (sessionId: string, { leaf, seq, whole_from: wholeFrom }: HistoryPlace): string =>
  encodeCursor([sessionId, leaf, seq, ...(wholeFrom === undefined ? [] : [wholeFrom])]);

/** The place that a cursor of this session names. */
export function placeOf(
  sessionId: string,
  cursor: z.output<typeof placeCursorSchema> | undefined,
): Result<{ after?: HistoryPlace }, Problem> {
  if (cursor === undefined) return ok({});
  const [session, leaf, seq, wholeFrom] = cursor;
  if (session !== sessionId) return err(fieldProblem("invalid", "?cursor", "is another session's"));
  return ok({ after: { leaf, seq, ...(wholeFrom === undefined ? {} : { whole_from: wholeFrom }) } });
}
