/**
 * The same questions to every route of the API's own document: who gets in, and what another tenant sees.
 * A route that has no request prepared here fails the suite, so that none is added without being asked.
 */
import { describe, expect, test } from "vitest";
import type { Call, Plane, Reply, Tenant } from "./harness.ts";

/** What belongs to the tenant that owns everything, by the name of the path parameter. */
export type Owned = { readonly tenant: Tenant; readonly session: string; readonly message: string; readonly job: string; readonly keyId: string };

type Kind = "tenant" | "operator" | "either" | "any" | "public";
export type Prepared = { readonly kind: Kind; readonly body?: unknown; readonly query?: string; readonly headers?: Record<string, string> };

const UNKNOWN = {
  tenant_id: "ten_01m8ngf2z2esgbjasbkqkwx8bx",
  session_id: "ses_01m8ngf31nesgbjawm0yzz5x4h",
  message_id: "no-such-message",
  job_id: "job_01m8ngf3edfk7twrevw9bs49r8",
  key_id: "key_01m8ngf308esgbjat23tzm1xbm",
  external_id: "no-such-external-id",
};

const fill = (path: string, values: Record<string, string>): string => path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "");

export type Route = { readonly method: string; readonly path: string };

export async function routesOf(plane: Plane): Promise<Route[]> {
  const { body } = await plane.caller(null)<{ paths: Record<string, Record<string, unknown>> }>("GET", "/openapi.json");
  return Object.entries(body.paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })));
}

type Context = { readonly plane: Plane; readonly owned: Owned; readonly other: Tenant; readonly reader: Tenant };

/** `prepared`: by `METHOD path`. `context` is asked for when the tests run. */
export function describeTenantIsolation(routes: readonly Route[], prepared: Readonly<Record<string, Prepared>>, context: () => Context): void {
  const ask = (call: Call, { method, path }: Route, values: Record<string, string>): Promise<Reply> => {
    const request = prepared[`${method} ${path}`];
    return call(method, fill(path, values) + (request?.query ?? ""), request?.body, request?.headers);
  };
  const owned = () => {
    const { tenant, session, message, job, keyId } = context().owned;
    return { tenant_id: tenant.id, session_id: session, message_id: message, job_id: job, key_id: keyId, external_id: "taken" };
  };
  const code = (reply: Reply) => [reply.status, reply.body["code"]];

  describe.each(routes)("$method $path", (route) => {
    const request = prepared[`${route.method} ${route.path}`];

    test("has a request prepared", () => expect(request).toBeDefined());
    if (request === undefined || request.kind === "public") return;

    test("lets nobody in without a valid key", async () => {
      const { plane } = context();
      expect(code(await ask(plane.caller(null), route, owned()))).toEqual([401, "unauthenticated"]);
      expect(code(await ask(plane.caller(`sp_live_${"x".repeat(43)}`), route, owned()))).toEqual([401, "unauthenticated"]);
    });

    if (request.kind === "operator") {
      test("is closed to a tenant's key", async () => {
        expect(code(await ask(context().owned.tenant.call, route, owned()))).toEqual([403, "wrong_key_kind"]);
      });
    }
    if (request.kind === "tenant") {
      test("is closed to an operator's key that names no tenant", async () => {
        expect(code(await ask(context().plane.operator, route, owned()))).toEqual([403, "wrong_key_kind"]);
      });
    }
    if (request.kind !== "any" && request.kind !== "operator") {
      test("is closed to a key without its scope", async () => {
        expect(code(await ask(context().reader.call, route, owned()))).toEqual([403, "insufficient_scope"]);
      });
    }
    if (request.kind === "tenant" && route.path.includes("{session_id}")) {
      test("answers another tenant in the same words as for what never was", async () => {
        const { other } = context();
        const foreign = await ask(other.call, route, owned());
        const missing = await ask(other.call, route, { ...owned(), ...UNKNOWN });
        const words = ({ status, body }: Reply) => ({ status, code: body["code"], title: body["title"], detail: body["detail"] });
        expect(words(foreign)).toEqual(words(missing));
        expect(foreign.status).toBe(404);
      });
    }
  });
}
