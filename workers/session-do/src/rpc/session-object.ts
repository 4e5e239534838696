/** What the parts of a session's object share. Private to this worker: nothing here can be called from outside. */
import { DurableObject } from "cloudflare:workers";
import type { SessionRpc } from "@sessionplane/shared/rpc/session-rpc";
import type { SessionEnv } from "../env.ts";
import { Turns } from "../turns.ts";

/** What a method of the contract takes. */
export type Input<M extends keyof SessionRpc> = Parameters<SessionRpc[M]>[0];

export abstract class SessionObject extends DurableObject<SessionEnv> {
  protected readonly turns = new Turns(this.ctx, this.env);
}
