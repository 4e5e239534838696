/** Work inside a Durable Object of its own, and messages for it. Tests inside workerd alone import it. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { SessionError } from "../session-error.ts";
import type { SessionMessage, SessionMessageInput } from "../session-message.ts";
import type { TestHost } from "./host-worker.ts";

export type TestObject = {
  /** Runs in the object; what it returns stays in this isolate. */
  readonly run: <T>(work: (host: TestHost) => T | Promise<T>) => Promise<T>;
  /** The object's memory goes, its storage stays. */
  readonly evict: () => Promise<void>;
};

/** One that no other test has. */
export function newObject(): TestObject {
  const stub = env.HOST.getByName(crypto.randomUUID());
  return { run: (work) => runInDurableObject(stub, (host) => work(host)), evict: () => evictDurableObject(stub) };
}

export const text = (id: string, content = id, role = "user"): SessionMessage => ({
  id,
  role,
  parts: [{ type: "text", text: content }],
});

/** `count` messages in a row, of about `tokens` tokens each. */
export const talk = (count: number, tokens = 10, prefix = "m"): SessionMessage[] =>
  Array.from({ length: count }, (_, index) =>
    text(`${prefix}${index}`, "abcd".repeat(tokens - 4), index % 2 === 0 ? "user" : "assistant"),
  );

export async function appendAll(
  session: { appendMessage(message: SessionMessageInput): Promise<unknown> },
  messages: readonly SessionMessageInput[],
): Promise<void> {
  for (const message of messages) await session.appendMessage(message);
}

export const idsOf = (messages: readonly { readonly id: string }[]): string[] => messages.map(({ id }) => id);
export const textOf = (message: SessionMessage | null | undefined): unknown => message?.parts[0]?.["text"];

/** The code with which it was refused. */
export async function codeOf(work: Promise<unknown> | (() => unknown)): Promise<string> {
  try {
    const value = await (typeof work === "function" ? work() : work);
    return `not refused: ${JSON.stringify(value)}`;
  } catch (error) {
    return error instanceof SessionError ? error.code : String(error);
  }
}
