/**
 * A session that is being made of lines: staged call by call, then made all at once. Until then the object
 * holds no session, and tells everyone that there is none.
 */
import type { SessionId, TenantId } from "@sessionplane/shared/ids";
import type { Problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { FinishImport, StageLines } from "@sessionplane/shared/rpc/session-rpc";
import { migrate } from "@sessionplane/engine/storage/sqlite/migrate";
import { MediaStore } from "@sessionplane/engine/storage/sqlite/media-store";
import type { MediaBucket } from "../messages/media-bucket.ts";
import { MIGRATIONS } from "../migrations.ts";
import { SessionStore, type StoreOptions } from "../session-store.ts";
import { newRow } from "../settings.ts";
import { ImportRefused, plant } from "./finish.ts";
import { stage } from "./stage.ts";
import { StagedContext } from "./stage-context.ts";
import { Staging } from "./staging.ts";

type Made = { readonly store: SessionStore; readonly messages: number; readonly overlays: number };

export class Import {
  readonly #storage: DurableObjectStorage;
  readonly #bucket: MediaBucket;
  #owner: { readonly tenant_id: TenantId; readonly session_id: SessionId } | null = null;

  constructor(storage: DurableObjectStorage, bucket: MediaBucket) {
    this.#storage = storage;
    this.#bucket = bucket;
  }

  async stage(input: StageLines): Promise<Result<null, Problem>> {
    const { sql } = this.#storage;
    migrate(this.#storage, MIGRATIONS);
    this.#owner = { tenant_id: input.tenant_id, session_id: input.session_id };
    const [staging, media, context] = [new Staging(sql), new MediaStore(sql), new StagedContext(sql)];
    if (input.first)
      this.#storage.transactionSync(() => {
        staging.clear();
        context.clear();
      });
    const messages = input.lines.flatMap(({ entry }) => (entry.kind === "message" ? [entry.message] : []));
    const uploads = await this.#bucket.upload(media, this.#owner, messages, Date.now());
    if (!uploads.ok) return uploads;
    return this.#storage.transactionSync(() => stage({ staging, media, context }, input, uploads.value));
  }

  /** All of it in one transaction: the session is there whole, or not at all. */
  finish(input: FinishImport, options: StoreOptions): Result<Made, Problem> {
    const storage = this.#storage;
    const now = Date.now();
    migrate(storage, MIGRATIONS);
    try {
      return storage.transactionSync(() => {
        const store = SessionStore.create(storage, options, newRow(input));
        const stray = new StagedContext(storage.sql).check();
        if (stray !== null) throw new ImportRefused(stray);
        return ok({ store, ...plant(store, new Staging(storage.sql), input, now) });
      });
    } catch (error) {
      if (error instanceof ImportRefused) return err(error.refusal);
      throw error;
    }
  }

  async abandon(): Promise<void> {
    if (this.#owner !== null) await this.#bucket.empty(this.#owner);
    await this.#storage.deleteAll();
  }
}
