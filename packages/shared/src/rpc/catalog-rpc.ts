/** What `api` offers to the compactor: prices. `CatalogEntrypoint` implements it. */
import type { TenantId } from "../ids.ts";
import type { Problem } from "../problem.ts";
import type { Result } from "../result.ts";
import type { NewUsageEvent, PricedUsage } from "../usage-event.ts";

export interface CatalogRpc {
  /** The events normalised and priced by the tenant's price book at their moment. Writes nothing. */
  priceUsage(tenantId: TenantId, events: readonly NewUsageEvent[]): Promise<Result<readonly PricedUsage[], Problem>>;
}
