/**
 * Who listens through a WebSocket. The platform keeps it while the object sleeps; where each one stands in
 * the log is kept with it.
 */
import type { ErrorFrame, EventFrame, StatusFrame } from "@sessionplane/shared/session-event";
import type { SessionStore } from "../session-store.ts";
import { readEvents } from "./read-events.ts";

/** What a socket has been sent, and the threshold that its status frames show. */
type Place = { readonly after: number; readonly threshold: number };

export class Sockets {
  readonly #ctx: DurableObjectState;
  /** Most sessions have none, and every write asks. */
  #any: boolean;

  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
    this.#any = ctx.getWebSockets().length > 0;
    // Answered without waking the object.
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
  }

  /** `request`: as `api` makes it. */
  accept(store: SessionStore, request: Request): Response {
    const { searchParams } = new URL(request.url);
    const after = Number(searchParams.get("after") ?? store.sequence.head);
    const place: Place = { after, threshold: Number(searchParams.get("threshold")) };
    const { 0: client, 1: server } = new WebSocketPair();
    this.#ctx.acceptWebSocket(server);
    this.#any = true;
    server.serializeAttachment(place);
    this.#tell(store, server);
    return new Response(null, { status: 101, webSocket: client });
  }

  /** Something was written. */
  tellAll(store: SessionStore): void {
    if (!this.#any) return;
    for (const socket of this.#ctx.getWebSockets()) {
      if (store.row.status === "erased") socket.close(1000, "the session was erased");
      else this.#tell(store, socket);
    }
  }

  /** What it has not been sent, then how the session is. A socket that has gone is no failure of the write. */
  #tell(store: SessionStore, socket: WebSocket): void {
    const place = socket.deserializeAttachment() as Place;
    let { after } = place;
    let compacted: StatusFrame["compacted"];
    try {
      for (let events = readEvents(store, after); events.length > 0; events = readEvents(store, after)) {
        for (const { seq, type, data } of events) {
          const frame: EventFrame = { type: "event", event: type, seq, data: JSON.parse(data) as unknown };
          socket.send(JSON.stringify(frame));
          const failure = failureOf(frame);
          if (failure !== null) socket.send(JSON.stringify(failure));
          compacted = summaryOf(frame) ?? compacted;
          after = seq;
        }
      }
      socket.send(JSON.stringify({ ...statusOf(store, place.threshold), ...(compacted && { compacted }) } satisfies StatusFrame));
    } catch {
      socket.close(1011, "could not be told");
    }
    socket.serializeAttachment({ ...place, after } satisfies Place);
  }
}

const detail = (data: unknown, name: string): unknown =>
  typeof data === "object" && data !== null ? (data as Readonly<Record<string, unknown>>)[name] : undefined;

/** What a summary stands for, in tokens. */
function summaryOf({ event, data }: EventFrame): StatusFrame["compacted"] {
  const tokensBefore = event === "compact" ? detail(data, "tokens_before") : undefined;
  return typeof tokensBefore === "number" ? { tokensBefore } : undefined;
}

function failureOf({ event, data }: EventFrame): ErrorFrame | null {
  const state = event === "compaction" ? detail(data, "state") : undefined;
  if (state !== "failed" && state !== "rejected") return null;
  const why = detail(detail(data, "error"), "detail");
  return { type: "cf_agent_session_error", error: typeof why === "string" ? why : state };
}

const statusOf = (store: SessionStore, threshold: number): StatusFrame => ({
  type: "cf_agent_session",
  phase: store.jobs.open() === null ? "idle" : "compacting",
  tokenEstimate: store.historyTokens(store.messages.activeLeaf()),
  tokenThreshold: threshold,
});

/** Ends a socket that its client has ended. 1005 and 1006 are for the platform alone to say. */
export const closeBack = (socket: WebSocket, code: number): void => socket.close(code === 1005 || code === 1006 ? 1000 : code);
