/** `GET /docs/problems/{code}`: what a problem's `type` points to. */
import { PROBLEMS } from "@sessionplane/shared/problem";
import type { App } from "../../http/routes.ts";
import { html } from "hono/html";

export const registerProblemPage = (app: App) =>
  app.get("/docs/problems/:code", (c) => {
    const code = c.req.param("code");
    const entry = Object.entries(PROBLEMS).find(([known]) => known === code)?.[1];
    if (entry === undefined) return c.notFound();
    return c.html(
      html`<!doctype html>
        <html lang="en">
          <meta charset="utf-8" />
          <title>${code}</title>
          <h1><code>${code}</code></h1>
          <p>${entry.title}.</p>
          <p>
            HTTP status ${String(entry.status)}. The reply's <code>detail</code> and <code>errors</code> say what was wrong in
            this request.
          </p>
          <p><a href="/docs">The API</a></p>
        </html>`,
    );
  });
