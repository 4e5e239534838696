/** A list in memory that follows a session's writes. */
import type { SessionEvent, SessionListener } from "./session-events.ts";
import type { SessionMessage } from "./session-message.ts";

type Hooks = {
  /** True: the event is dealt with, and the list stays as `intercept` left it. */
  readonly intercept?: (event: SessionEvent) => boolean | void | Promise<boolean | void>;
  /** After the list has changed. */
  readonly onApplied?: (event: SessionEvent) => void;
};

type List<T> = { readonly get: () => readonly T[]; readonly set: (messages: T[]) => void };

/** A list of messages. */
export type MirrorOptions = List<SessionMessage> & Hooks;
/** A list of what `transform` makes of each message; it keeps the id. */
export type TransformingMirrorOptions<T extends { readonly id: string }> = List<T> &
  Hooks & { readonly transform: (message: SessionMessage) => T };

/** The list after an event; null when it has nothing to do with it. */
function after<T extends { readonly id: string }>(
  list: readonly T[],
  event: SessionEvent,
  transform: (message: SessionMessage) => T,
): T[] | null {
  switch (event.type) {
    case "append":
    case "update": {
      const known = list.findIndex(({ id }) => id === event.message.id);
      if (known !== -1) return list.with(known, transform(event.message));
      return event.type === "append" ? [...list, transform(event.message)] : null;
    }
    case "delete": {
      const gone = new Set(event.messageIds);
      return list.filter(({ id }) => !gone.has(id));
    }
    case "clear":
      return [];
    case "compact":
    case "compaction":
    case "import":
      break;
  }
  return null;
}

/** Applies the events of one session. */
export function mirrorListener<T extends { readonly id: string }>(
  sessionId: string,
  options: MirrorOptions | TransformingMirrorOptions<T>,
): SessionListener {
  return "transform" in options
    ? listenerOf(sessionId, options)
    : listenerOf(sessionId, { ...options, transform: (message) => message });
}

function listenerOf<T extends { readonly id: string }>(
  sessionId: string,
  { get, set, transform, intercept, onApplied }: TransformingMirrorOptions<T>,
): SessionListener {
  const apply = (event: SessionEvent) => {
    const next = after(get(), event, transform);
    if (next === null) return;
    set(next);
    onApplied?.(event);
  };
  return (event) => {
    if (event.sessionId !== sessionId) return undefined;
    const handled = intercept?.(event);
    if (!(handled instanceof Promise)) return handled === true ? undefined : apply(event);
    return handled.then((done) => (done === true ? undefined : apply(event)));
  };
}
