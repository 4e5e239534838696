/** What a session is made with, and how a leaf is named. */
import type { Role } from "@sessionplane/shared/message";
import type { WritableContextProvider } from "../context/providers.ts";
import type { ContextDeclaration } from "./context/context-blocks.ts";

/** What a write with the source `client` may be, and the session's context. */
export type SessionOptions = {
  /** Keys of `metadata` that only the server sets: a client's are dropped, the server's stay. */
  readonly reservedMetadataKeys?: readonly string[] | undefined;
  /** Roles that a client may write; `user` alone when it is left out. Parts of tools need `assistant` or `tool`. */
  readonly clientRoles?: readonly Role[] | undefined;
  /** As by `withContext`, in this order. */
  readonly context?: readonly ContextDeclaration[] | undefined;
  /** As by `withCachedPrompt`. */
  readonly promptStore?: WritableContextProvider | undefined;
};

/** A leaf's id, or the options that name it; null and nothing mean the active leaf. */
export type LeafArgument = string | null | { readonly leafId?: string | undefined };

export const leafIn = (leaf: LeafArgument | undefined): string | undefined =>
  (typeof leaf === "object" ? leaf?.leafId : leaf) ?? undefined;
