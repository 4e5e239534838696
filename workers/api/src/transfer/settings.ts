/** What a session is that is made of another, or of an import. Pure. */
import { NO_SETTINGS } from "@sessionplane/shared/session";
import type { SettingsFor } from "./receive.ts";

/** A copy's settings are the original's. */
export const settingsOfImport: SettingsFor = (line) => ({ ...NO_SETTINGS, ...line?.session });

/** A session that goes on where another is. */
export const continuationOf =
  (parentId: string, name: string | undefined): SettingsFor =>
  (line) => ({ ...NO_SETTINGS, ...line?.session, parent_session_id: parentId, ...(name === undefined ? {} : { name }) });
