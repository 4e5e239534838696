/** The API on one screen: what every request passes, then every route. */
import { checkIdempotencyKey } from "./http/idempotency.ts";
import { readJsonBody } from "./http/body.ts";
import { serveDocument } from "./http/openapi.ts";
import { onError, onNotFound } from "./http/problems.ts";
import { frame } from "./http/request.ts";
import { type App, newApp } from "./http/routes.ts";
import { registerListJobs } from "./routes/compactions/list-jobs.ts";
import { registerListOverlays } from "./routes/compactions/list-overlays.ts";
import { registerRequestCompaction } from "./routes/compactions/request-compaction.ts";
import { registerCancelJob, registerGetJob, registerListSessionJobs } from "./routes/compactions/session-jobs.ts";
import { registerCreateOperatorKey, registerCreateTenantKey } from "./routes/keys/create-key.ts";
import { registerListOperatorKeys, registerListTenantKeys } from "./routes/keys/list-keys.ts";
import { registerRevokeOperatorKey, registerRevokeTenantKey } from "./routes/keys/revoke-key.ts";
import { registerGetMe } from "./routes/me/get-me.ts";
import { registerAppendMessages } from "./routes/messages/append-messages.ts";
import { registerChooseLeaf, registerListBranches, registerListLeaves, registerListRoots } from "./routes/messages/branches.ts";
import { registerClearMessages, registerDeleteMessage, registerDeleteMessages } from "./routes/messages/delete-messages.ts";
import { registerGetMessage } from "./routes/messages/get-message.ts";
import { registerPatchMessage } from "./routes/messages/patch-message.ts";
import { registerPutMessage } from "./routes/messages/put-message.ts";
import { registerReadHistory } from "./routes/messages/read-history.ts";
import { registerReadStats } from "./routes/messages/read-stats.ts";
import { registerRepairSession } from "./routes/operations/repair-session.ts";
import { registerHealth, registerReady } from "./routes/plane/health.ts";
import { registerProblemPage } from "./routes/plane/problem-page.ts";
import { registerAddPrice } from "./routes/prices/add-price.ts";
import { registerImportPrices } from "./routes/prices/import-prices.ts";
import { registerListPrices } from "./routes/prices/list-prices.ts";
import { registerResolvePrice } from "./routes/prices/resolve-price.ts";
import { registerCostReport, registerUsageReport } from "./routes/reports/report.ts";
import { registerCreateSession, registerPutSession } from "./routes/sessions/create-session.ts";
import { registerEndSession } from "./routes/sessions/end-session.ts";
import { registerGetSession } from "./routes/sessions/get-session.ts";
import { registerListSessions } from "./routes/sessions/list-sessions.ts";
import { registerPatchSession } from "./routes/sessions/patch-session.ts";
import { registerCreateTenant, registerPutTenant } from "./routes/tenants/create-tenant.ts";
import { registerGetTenant } from "./routes/tenants/get-tenant.ts";
import { registerListTenants } from "./routes/tenants/list-tenants.ts";
import { registerPatchTenant } from "./routes/tenants/patch-tenant.ts";
import { registerListUsageEvents } from "./routes/usage/list-usage-events.ts";
import { registerReadUsage } from "./routes/usage/read-usage.ts";
import { registerRecordUsage } from "./routes/usage/record-usage.ts";

export function createApp(): App {
  const app = newApp();
  app.use(frame, readJsonBody, checkIdempotencyKey);
  app.onError(onError);
  app.notFound(onNotFound);

  registerHealth(app);
  registerReady(app);
  registerProblemPage(app);
  registerGetMe(app);

  registerCreateTenant(app);
  registerPutTenant(app);
  registerListTenants(app);
  registerGetTenant(app);
  registerPatchTenant(app);
  registerCreateTenantKey(app);
  registerListTenantKeys(app);
  registerRevokeTenantKey(app);
  registerCreateOperatorKey(app);
  registerListOperatorKeys(app);
  registerRevokeOperatorKey(app);

  registerCreateSession(app);
  registerPutSession(app);
  registerListSessions(app);
  registerGetSession(app);
  registerPatchSession(app);
  registerEndSession(app);
  registerAppendMessages(app);
  registerReadHistory(app);
  registerClearMessages(app);
  registerDeleteMessages(app);
  registerGetMessage(app);
  registerPutMessage(app);
  registerPatchMessage(app);
  registerDeleteMessage(app);
  registerListBranches(app);
  registerListRoots(app);
  registerListLeaves(app);
  registerChooseLeaf(app);
  registerReadStats(app);
  registerRecordUsage(app);
  registerReadUsage(app);
  registerListUsageEvents(app);

  registerRequestCompaction(app);
  registerListOverlays(app);
  registerListSessionJobs(app);
  registerGetJob(app);
  registerCancelJob(app);
  registerListJobs(app);

  registerListPrices(app);
  registerAddPrice(app);
  registerImportPrices(app);
  registerResolvePrice(app);
  registerUsageReport(app);
  registerCostReport(app);
  registerRepairSession(app);

  serveDocument(app);
  return app;
}
