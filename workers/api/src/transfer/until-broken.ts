/** Lines whose source may break off: a session that is erased while it is copied, a client that goes away. */
import { type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err } from "@sessionplane/shared/result";
import { logError } from "../log.ts";

const BROKEN_OFF = problem("unavailable", "What the session is made of broke off while it was read.");

/** That they broke off is their last word, a refusal: what was made of the others is given up. */
export async function* untilBroken<T>(lines: AsyncIterable<Result<T, Problem>>): AsyncGenerator<Result<T, Problem>> {
  try {
    yield* lines;
  } catch (error) {
    logError("import_broken_off", error);
    yield err(BROKEN_OFF);
  }
}
