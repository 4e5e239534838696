/** Placeholder until the registry lands. */
import * as z from "zod";
export const skillKeySchema = z.string().regex(/^[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.)){0,127}$/);
