/** The suites that run inside workerd. The only import of the pool: its package has been renamed once already. */
import { cloudflareTest } from "@cloudflare/vitest-pool-workers";

export const workerdProject = {
  plugins: [
    cloudflareTest({
      wrangler: { configPath: "./workers/session-do/wrangler.jsonc" },
      miniflare: { bindings: { FAULT_POINTS: "on" } },
    }),
  ],
  test: { name: "workerd", include: ["workers/session-do/**/*.workerd.test.ts"], testTimeout: 60_000 },
};

export const tenantWorkerdProject = {
  plugins: [cloudflareTest({ wrangler: { configPath: "./workers/tenant-do/wrangler.jsonc" } })],
  test: { name: "workerd-tenant", include: ["workers/tenant-do/**/*.workerd.test.ts"], testTimeout: 60_000 },
};
