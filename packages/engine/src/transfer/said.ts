/** What a message of a transcript says, before it is one of ours. */
import type { Message } from "@sessionplane/shared/message";
import type { Json } from "./json-value.ts";

type Part = Message["parts"][number];

/** What one message of a transcript says, in its order. */
export type Said =
  | { readonly kind: "part"; readonly part: Part }
  | { readonly kind: "result"; readonly toolCallId: string; readonly output: unknown; readonly isError: boolean }
  | { readonly kind: "unmapped"; readonly what: string };

export type Spoken = {
  readonly id: string | null;
  readonly role: Message["role"];
  readonly said: readonly Said[];
  /** Other fields, which stay as they are. */
  readonly rest?: Json;
};

/** Null: no message of this format. */
export type ReadMessage = (value: Json) => Spoken | null;
