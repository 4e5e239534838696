/**
 * How a route is declared: who may call it, what it takes, what it answers. A route file holds schema,
 * route and a handler of four beats: input, tenant, one call, reply.
 */
import { OpenAPIHono, createRoute, z } from "@hono/zod-openapi";
import type { Context, MiddlewareHandler } from "hono";
import { createMiddleware } from "hono/factory";
import type { Scope } from "@sessionplane/shared/api-key";
import { type Problem, problemReplySchema } from "@sessionplane/shared/problem";
import type { Result } from "@sessionplane/shared/result";
import type { AppEnv } from "../env.ts";
import { requireAny, requireEither, requireOperator, requireTenant } from "./authenticate.ts";
import { onValidated, problemReply, validationProblem } from "./problems.ts";

const NO_PARAMETERS = z.strictObject({});

export type App = OpenAPIHono<AppEnv>;

export const newApp = (): App => new OpenAPIHono<AppEnv>({ defaultHook: onValidated });

const problemContent = { content: { "application/problem+json": { schema: problemReplySchema } } };
const refusals = {
  400: { description: "Malformed JSON, or an unknown parameter", ...problemContent },
  401: { description: "No valid key", ...problemContent },
  403: { description: "A scope is missing, or the tenant is suspended", ...problemContent },
  404: { description: "Not there, or another tenant's", ...problemContent },
  409: { description: "A conflict with what is there", ...problemContent },
  410: { description: "The session was erased", ...problemContent },
  422: { description: "Invalid", ...problemContent },
  503: { description: "A part of the plane can't be reached: try again after `Retry-After`", ...problemContent },
};

/** What a route that takes a body or changes something may answer too. */
const refusalsOfWrites = {
  412: { description: "Not what If-Match or If-None-Match asks for", ...problemContent },
  413: { description: "Too large, or no room for it", ...problemContent },
  415: { description: "The body's media type is not accepted", ...problemContent },
};

type RouteConfig = Parameters<typeof createRoute>[0];

/** The declared replies, for the document alone: handlers answer through `reply`, checked by the end-to-end tests. */
const documented = (responses: object): Record<string, { description: string }> => ({ ...responses });
const withRefusals = (config: RouteConfig) =>
  documented({ ...refusals, ...(config.method === "get" ? {} : refusalsOfWrites), ...config.responses });

const openApiAccess = (kinds: readonly string[], scopes: readonly string[]) => ({
  security: [{ key: [...scopes] }],
  "x-key": [...kinds],
});

/** A route that declares no query takes none: a parameter that is misspelt is said to be, not passed over. */
const refuseParameters: MiddlewareHandler<AppEnv> = createMiddleware<AppEnv>(async (c, next) => {
  const { searchParams } = new URL(c.req.url);
  const parsed = NO_PARAMETERS.safeParse(Object.fromEntries(searchParams));
  return parsed.success ? next() : problemReply(c, validationProblem("query", parsed.error));
});

const extra = ({ request, middleware }: RouteConfig) => [
  ...(request?.query === undefined ? [refuseParameters] : []),
  ...(middleware === undefined ? [] : [middleware].flat()),
];

/** A route for a tenant's key with this scope. */
export const tenantRoute = <const R extends RouteConfig>(scope: Scope, config: R) =>
  createRoute({
    ...config,
    ...openApiAccess(["tenant"], [scope]),
    middleware: [requireTenant(scope), ...extra(config)],
    responses: withRefusals(config),
  });

/** A route for an operator's key with this scope. */
export const operatorRoute = <const R extends RouteConfig>(scope: Scope, config: R) =>
  createRoute({
    ...config,
    ...openApiAccess(["operator"], [scope]),
    middleware: [requireOperator(scope), ...extra(config)],
    responses: withRefusals(config),
  });

/** A route for both kinds of key, each with a scope of its own. */
export const eitherRoute = <const R extends RouteConfig>(tenantScope: Scope, operatorScope: Scope, config: R) =>
  createRoute({
    ...config,
    ...openApiAccess(["tenant", "operator"], [tenantScope, operatorScope]),
    middleware: [requireEither(tenantScope, operatorScope), ...extra(config)],
    responses: withRefusals(config),
  });

/** A route that takes no key. */
export const publicRoute = <const R extends RouteConfig>(config: R) =>
  createRoute({ ...config, responses: documented(config.responses) });

/** A route for any valid key. */
export const anyKeyRoute = <const R extends RouteConfig>(config: R) =>
  createRoute({
    ...config,
    ...openApiAccess(["tenant", "operator"], []),
    middleware: [requireAny, ...extra(config)],
    responses: withRefusals(config),
  });

export const json = <T extends z.ZodType>(schema: T, description: string) => ({
  description,
  content: { "application/json": { schema } },
});

export const jsonBody = <T extends z.ZodType>(schema: T) => ({
  required: true,
  content: { "application/json": { schema } },
});

/** A body that may be left out; every field of the schema is optional. */
export const optionalJsonBody = <T extends z.ZodType>(schema: T) => ({
  required: false,
  content: { "application/json": { schema } },
});

type ReplyStatus = 200 | 201 | 202;

/** The last beat of a handler: the value as JSON, or the refusal as a problem. */
export function reply<T>(
  c: Context<AppEnv>,
  result: Result<T, Problem>,
  status: ReplyStatus = 200,
  headers: Record<string, string> = {},
): Response {
  if (!result.ok) return problemReply(c, result.error);
  return c.body(JSON.stringify(result.value), status, { "Content-Type": "application/json", ...headers });
}
