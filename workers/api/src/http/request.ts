/** The frame of every request: its id, its timing, its headers. */
import { createMiddleware } from "hono/factory";
import { newId } from "@sessionplane/shared/ids";
import type { AppEnv } from "../env.ts";

export const frame = createMiddleware<AppEnv>(async (c, next) => {
  const started = Date.now();
  c.set("requestId", newId("request"));
  c.set("timings", new Map());
  await next();
  const timings = c.get("timings").set("total", Date.now() - started);
  c.res.headers.set("Request-Id", c.get("requestId"));
  c.res.headers.set("Server-Timing", [...timings].map(([name, ms]) => `${name};dur=${ms}`).join(", "));
  c.res.headers.set("X-Content-Type-Options", "nosniff");
});

/** Runs a part of the work and notes how long it took. */
export async function timed<T>(timings: Map<string, number>, part: string, work: () => Promise<T>): Promise<T> {
  const started = Date.now();
  try {
    return await work();
  } finally {
    timings.set(part, (timings.get(part) ?? 0) + Date.now() - started);
  }
}
