/** Path parameters, and the one answer for whatever is not there. */
import * as z from "zod";
import { messageIdSchema } from "@sessionplane/shared/message";
import { sessionIdSchema, tenantIdSchema } from "@sessionplane/shared/ids";
import { NOT_FOUND, type Problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";

export const tenantParams = z.object({ tenant_id: tenantIdSchema });
export const sessionParams = z.object({ session_id: sessionIdSchema });
export const messageParams = sessionParams.extend({ message_id: messageIdSchema });

/** The same words for what never was and for what is another tenant's. */

export const foundOr404 = <T>(value: T | null): Result<T, Problem> => (value === null ? err(NOT_FOUND) : ok(value));
