/** The few calls that the demo, the crash test and the benchmarks make. Throws the problem that a reply holds. */
export type Call = <T>(method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<T>;

export class CallError extends Error {
  override readonly name = "CallError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export const caller =
  (url: string, key: string): Call =>
  async (method, path, body, headers = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        Authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new CallError(response.status, `${method} ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };

const SCOPES = [
  "sessions:read",
  "sessions:write",
  "sessions:write-as-server",
  "skills:read",
  "skills:write",
  "usage:read",
  "usage:write",
];

/** A tenant with the given settings, and a call with a key of its own. */
export async function provisionTenant(
  operator: Call,
  url: string,
  name: string,
  settings: object,
): Promise<{ id: string; key: string; call: Call }> {
  const { id } = await operator<{ id: string }>("POST", "/v1/tenants", { name, settings });
  const { key } = await operator<{ key: string }>("POST", `/v1/tenants/${id}/keys`, { name: "app", scopes: SCOPES });
  return { id, key, call: caller(url, key) };
}
