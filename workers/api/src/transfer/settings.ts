/** What a session is that is made of another, or of an import. Pure. */
import type { SessionSettings } from "@sessionplane/shared/session";
import type { SettingsFor } from "./receive.ts";

const NOTHING: SessionSettings = {
  name: null,
  external_id: null,
  user_id: null,
  model: null,
  source: null,
  metadata: {},
  tags: [],
  parent_session_id: null,
  compaction: {},
};

/** A copy's settings are the original's. */
export const settingsOfImport: SettingsFor = (line) => ({ ...NOTHING, ...line?.session });

/** A session that goes on where another is. */
export const continuationOf =
  (parentId: string, name: string | undefined): SettingsFor =>
  (line) => ({ ...NOTHING, ...line?.session, parent_session_id: parentId, ...(name === undefined ? {} : { name }) });
