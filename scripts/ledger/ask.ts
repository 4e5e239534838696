/** The plane that the ledger's commands ask: the one that `npm start` runs here, or the one that is named. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stopWith } from "../options.ts";
import { PLANE_FOLDER } from "../plane.ts";

type Target = { readonly url: string; readonly key: string };

function target(): Target {
  const { SESSIONPLANE_URL: url, SESSIONPLANE_KEY: key } = process.env;
  if (url !== undefined && key !== undefined) return { url, key };
  if (url !== undefined || key !== undefined) stopWith("give both SESSIONPLANE_URL and SESSIONPLANE_KEY, or neither.");
  const file = join(PLANE_FOLDER, "dev.json");
  if (!existsSync(file)) stopWith("no plane is running here. Start one with npm start, or name one: see --help.");
  const local = JSON.parse(readFileSync(file, "utf8")) as { url: string; operator_key: string };
  return { url: local.url, key: local.operator_key };
}

type Request = { readonly method?: "GET" | "POST"; readonly body?: object; readonly accept?: string };

/** A reply that is good, or the end of the command with the plane's own words. */
export async function send(path: string, { method = "GET", body, accept = "application/json" }: Request = {}): Promise<Response> {
  const plane = target();
  const headers = { Authorization: `Bearer ${plane.key}`, "Content-Type": "application/json", Accept: accept };
  const request = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await fetch(new URL(path, plane.url), request).catch(() => stopWith(`${plane.url} does not answer.`));
  if (response.ok) return response;
  const refusal: unknown = await response.json().catch(() => null);
  if (refusal === null) return stopWith(`${plane.url} answers ${response.status}. Is it a Sessionplane?`);
  const { detail, code, errors = [] } = refusal as { detail: string; code: string; errors?: { pointer: string }[] };
  const where = errors[0]?.pointer ?? "";
  return stopWith(`${detail.includes(where) ? "" : `${where} `}${detail} (${code})`);
}

export async function ask<T>(path: string, request: Request = {}): Promise<T> {
  const reply: unknown = await (await send(path, request)).json();
  return reply as T;
}
