/** `GET /openapi.json`, from the routes' schemas, and `GET /docs`, which shows it without any other host. */
import { Scalar } from "@scalar/hono-api-reference";
import type { App } from "./routes.ts";

const DESCRIPTION = `Tenants, their sessions, usage and cost. Every reply carries a \`Request-Id\`; every refusal is a problem
(RFC 9457) with a \`code\`. Send \`Idempotency-Key\` with a POST or PATCH to repeat it safely.`;

type JsonObject = { [key: string]: unknown };

const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

/** A schema with a name of its own, as Zod's metadata marks it, and not a property that is called id. */
const isNamedSchema = (value: JsonObject): value is JsonObject & { id: string } =>
  typeof value["id"] === "string" && (typeof value["type"] === "string" || "anyOf" in value || "enum" in value);

/** Moves every named schema to `components`, once, and leaves a reference. */
export function nameSchemas(document: JsonObject): JsonObject {
  const schemas: JsonObject = {};
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit);
    if (!isObject(value)) return value;
    if (!isNamedSchema(value)) return visitMembers(value);
    const { id, ...schema } = value;
    schemas[id] ??= visitMembers(schema);
    return { $ref: `#/components/schemas/${id}` };
  };
  const visitMembers = (value: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(value).map(([key, member]) => [key, visit(member)]));
  const visited = visitMembers(document);
  const components = isObject(visited["components"]) ? visited["components"] : {};
  const present = isObject(components["schemas"]) ? components["schemas"] : {};
  return { ...visited, components: { ...components, schemas: { ...present, ...schemas } } };
}

export function serveDocument(app: App): void {
  app.openAPIRegistry.registerComponent("securitySchemes", "key", {
    type: "http",
    scheme: "bearer",
    description: "An operator's key (spo_…) or a tenant's (sp_live_…, sp_test_…)",
  });
  let document: JsonObject | undefined;
  app.get("/openapi.json", (c) => {
    document ??= nameSchemas({
      ...app.getOpenAPI31Document({
        openapi: "3.1.0",
        info: { title: "Sessionplane", version: "0.1.0", description: DESCRIPTION },
      }),
    });
    return c.json(document);
  });
  app.get(
    "/docs",
    Scalar({
      url: "/openapi.json",
      cdn: "/assets/scalar.js",
      withDefaultFonts: false,
      telemetry: false,
      pageTitle: "Sessionplane API",
    }),
  );
}
