/**
 * The same questions to every route of the API's own document: who gets in, and what another tenant sees.
 * Kinds of key and scopes are the document's; a route that has no request prepared here, or is open to
 * everyone without being meant to, fails the suite. Used by the isolation suite alone.
 */
import { describe, expect, test } from "vitest";
import type { Call, Plane, Reply, Tenant } from "./harness.ts";

export type Kind = "tenant" | "operator";
export type Route = {
  readonly method: string;
  readonly path: string;
  /** Who may call it, and the scope that each kind needs; null when any key of that kind will do. */
  readonly admits: ReadonlyMap<Kind, string | null>;
};

/** What belongs to one tenant, by the name of the path parameter. */
export type Owned = Readonly<Record<string, string>>;

export type Prepared = {
  readonly body?: unknown;
  readonly query?: string;
  readonly headers?: Record<string, string>;
  /** Meant for everyone, without a key. */
  readonly open?: true;
  /** Path parameters with which the right key gets in, where the resident's own do not fit. */
  readonly values?: Owned;
  /** For operators, who name what is anyone's: no id is foreign to them. */
  readonly plane?: true;
  /** What is said of an unknown one of these parameters, where that is not 404. */
  readonly unknown?: Readonly<Record<string, readonly [status: number, code: string]>>;
};

/** Well-formed ids of nothing. */
const UNKNOWN: Owned = {
  tenant_id: "ten_01m8ngf2z2esgbjasbkqkwx8bx",
  session_id: "ses_01m8ngf31nesgbjawm0yzz5x4h",
  message_id: "no-such-message",
  attachment_id: "att_01m8ngf3edfk7twrevw9bs49r8",
  job_id: "job_01m8ngf3edfk7twrevw9bs49r8",
  key_id: "key_01m8ngf308esgbjat23tzm1xbm",
  key: "no-such-key",
  label: "no-such-block",
  event_id: "no-such-event",
  overlay_id: "ovl_01m8ngf3edfk7twrevw9bs49r8",
};

const NOTHING = [404, "not_found"] as const;

const fill = (path: string, values: Owned): string => path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "");
const parametersOf = (path: string): string[] => Array.from(path.matchAll(/\{(\w+)\}/g), (match) => match[1] ?? "");

type Operation = { readonly security?: readonly { readonly key?: string[] }[]; readonly "x-key"?: Kind[] };

function admitsOf({ security = [], "x-key": kinds = [] }: Operation): Map<Kind, string | null> {
  const scopes = security[0]?.key ?? [];
  return new Map(kinds.map((kind, index) => [kind, scopes[index] ?? null]));
}

export async function routesOf(plane: Plane): Promise<Route[]> {
  const { body } = await plane.caller(null)<{ paths: Record<string, Record<string, Operation>> }>("GET", "/openapi.json");
  return Object.entries(body.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      admits: admitsOf(operation),
    })),
  );
}

export type Cast = {
  readonly plane: Plane;
  /** Whose things are asked for by others. Nothing of it may change. */
  readonly owner: Tenant;
  readonly owned: Owned;
  /** Who asks for them, and has things of its own. */
  readonly other: Tenant;
  readonly others: Owned;
  /** Whose own requests show that the prepared ones are good. */
  readonly resident: Tenant;
  readonly residents: Owned;
  readonly revoked: Call;
  /** A key of the owner, or of an operator, with every scope but this one. */
  keyWithout(kind: Kind, scope: string): Promise<Call>;
};

const codeOf = (reply: Reply) => [reply.status, reply.body["code"]];
/** All that a refusal says, but for what names the request itself. */
const wordsOf = ({ status, body: { instance: _instance, request_id: _requestId, ...words } }: Reply) => ({ status, ...words });

type Ask = (call: Call, values: Owned) => Promise<Reply>;
/** What is asked of a route, and what must come back. */
type Question = { readonly name: string; readonly ask: () => Promise<void> };

function questionsOfKeys(route: Route, ask: Ask, cast: Cast): Question[] {
  const refused = (call: Call, code: string) => async () => {
    expect(codeOf(await ask(call, cast.owned))).toEqual([403, code]);
  };
  const withoutKey = async () => {
    const { plane, owned, revoked } = cast;
    const calls = [plane.caller(null), plane.caller("none"), plane.caller(`sp_live_${"x".repeat(43)}`), revoked];
    for (const call of calls) expect(codeOf(await ask(call, owned))).toEqual([401, "unauthenticated"]);
  };
  const withoutScope = (kind: Kind, scope: string) => async () => {
    const reply = await ask(await cast.keyWithout(kind, scope), cast.owned);
    expect([...codeOf(reply), reply.body["required_scope"]]).toEqual([403, "insufficient_scope", scope]);
  };
  const kinds = [
    { kind: "tenant", name: "is closed to a tenant's key", call: cast.owner.call },
    { kind: "operator", name: "is closed to an operator's key that names no tenant", call: cast.plane.operator },
  ] as const;
  return [
    { name: "lets nobody in without a valid key", ask: withoutKey },
    ...kinds
      .filter(({ kind }) => !route.admits.has(kind))
      .map(({ name, call }) => ({ name, ask: refused(call, "wrong_key_kind") })),
    ...[...route.admits].flatMap(([kind, scope]) =>
      scope === null
        ? []
        : [{ name: `is closed to a key of kind ${kind} that has every scope but ${scope}`, ask: withoutScope(kind, scope) }],
    ),
  ];
}

function questionsOfIds(route: Route, ask: Ask, cast: Cast, unknown: Prepared["unknown"] = {}): Question[] {
  const named = parametersOf(route.path).filter((name) => name in UNKNOWN);
  const call = route.admits.has("tenant") ? cast.other.call : cast.plane.operator;
  // An operator may name any tenant, and a key's tenant: what must not cross is one's thing under another's name.
  const foreign = route.admits.has("tenant") ? named : named.filter((name) => name !== "tenant_id");
  const sameWords = (theirs: Owned, nothing: Owned, said: readonly [number, string]) => async () => {
    const reply = await ask(call, theirs);
    expect(codeOf(reply)).toEqual(said);
    expect(wordsOf(reply)).toEqual(wordsOf(await ask(call, nothing)));
  };
  const oneByOne = foreign.map((name) => ({
    name: `says of another tenant's ${name} what it says of one that never was`,
    ask: sameWords(
      { ...cast.others, [name]: cast.owned[name] ?? "" },
      { ...cast.others, [name]: UNKNOWN[name] ?? "" },
      unknown[name] ?? NOTHING,
    ),
  }));
  const together = {
    name: "says of another tenant's ids together what it says of ones that never were",
    ask: sameWords(cast.owned, UNKNOWN, NOTHING),
  };
  return foreign.length < 2 ? oneByOne : [...oneByOne, together];
}

/** Without it the refusals above could be those of a bad request. Last: it may end or revoke what it asks for. */
const admission = (route: Route, ask: Ask, { plane, resident, residents }: Cast, values: Owned = {}): Question => ({
  name: "lets the right key in",
  ask: async () => {
    const call = route.admits.has("operator") ? plane.operator : resident.call;
    const { status, body } = await ask(call, { ...residents, ...values });
    expect(status < 300 || REFUSALS_OF_STATE.includes(String(body["code"])), `${status} ${String(body["code"])}`).toBe(true);
  },
});

/** What a good request of the right key may still hear. */
const REFUSALS_OF_STATE = [
  ...["session_ended", "job_not_open", "job_not_retriable", "job_open", "nothing_to_compact", "compaction_unfinished"],
];

/** `prepared`: by `METHOD path`. */
export function describeTenantIsolation(
  routes: readonly Route[],
  prepared: Readonly<Record<string, Prepared>>,
  cast: Cast,
): void {
  test("has a request prepared for every route, and for none that is gone", () => {
    expect(Object.keys(prepared).toSorted()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).toSorted());
  });

  describe.each(routes)("$method $path", (route) => {
    const {
      open = false,
      plane: isPlane = false,
      query = "",
      body,
      headers,
      values,
      unknown,
    } = prepared[`${route.method} ${route.path}`] ?? {};
    const ask: Ask = (call, ids) => call(route.method, fill(route.path + query, ids), body, headers);

    test("is open to those alone whom it is meant for", () => {
      expect(route.admits.size === 0).toBe(open);
    });
    const ofIds = isPlane ? [] : questionsOfIds(route, ask, cast, unknown);
    const closed = open ? [] : [...questionsOfKeys(route, ask, cast), ...ofIds];
    test.each([...closed, admission(route, ask, cast, values)])("$name", ({ ask }) => ask());
  });
}
