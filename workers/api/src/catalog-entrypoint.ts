/** What the compactor calls over RPC: prices for what its summaries cost. */
import { WorkerEntrypoint } from "cloudflare:workers";
import type { TenantId } from "@sessionplane/shared/ids";
import { problem } from "@sessionplane/shared/problem";
import { err } from "@sessionplane/shared/result";
import type { CatalogRpc } from "@sessionplane/shared/rpc/catalog-rpc";
import type { NewUsageEvent } from "@sessionplane/shared/usage-event";
import { priceEvents } from "./billing/price-book.ts";
import { connect } from "./catalog/db.ts";
import { findTenant } from "./catalog/tenants.ts";
import type { ApiEnv } from "./env.ts";

export class CatalogEntrypoint extends WorkerEntrypoint<ApiEnv> implements CatalogRpc {
  async priceUsage(tenantId: TenantId, events: readonly NewUsageEvent[]) {
    const db = connect(this.env.CATALOG);
    const tenant = await findTenant(db, tenantId);
    if (tenant === null) return err(problem("not_found", "There is no such tenant."));
    return priceEvents(db, tenantId, tenant.settings, events, (index) => `/events/${index}`);
  }
}
