/** A text of the object: every session that names its label reads and writes the same one. */
import type { SessionHost } from "../host.ts";
import { ObjectContext } from "../storage/object-context.ts";
import { StoredText } from "./stored-text.ts";

export class AgentContextProvider extends StoredText {
  /** `label`: the text's name in the object; sessions that must be apart need one each. */
  constructor(host: SessionHost, label: string) {
    const stored = new ObjectContext(host);
    super(
      () => stored.texts?.read("block", label) ?? null,
      (content) => stored.write(({ texts }) => texts.write("block", label, content)),
    );
  }
}
