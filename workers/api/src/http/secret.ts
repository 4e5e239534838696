/** API keys as text: made from 256 random bits, recognised by their start, stored as a hash. */
import { sha256 } from "@sessionplane/shared/json";

const SECRET_BYTES = 32;
const START_LENGTH = 12;

export type KeyPrefix = "spo_" | "sp_live_" | "sp_test_";

export type NewSecret = { readonly key: string; readonly hash: string; readonly start: string };

export async function newSecret(prefix: KeyPrefix): Promise<NewSecret> {
  const random = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(SECRET_BYTES))));
  const key = prefix + random.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return { key, hash: await hashSecret(key), start: key.slice(0, START_LENGTH) };
}

export const hashSecret = (key: string): Promise<string> => sha256(key);

/** Compares two hashes in a time that does not depend on where they differ. */
export function sameHash(a: string, b: string): boolean {
  const left = new TextEncoder().encode(a);
  const right = new TextEncoder().encode(b);
  return left.byteLength === right.byteLength && crypto.subtle.timingSafeEqual(left, right);
}
