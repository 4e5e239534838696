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

/** The example of a worker that embeds the engine. */
export const exampleProject = {
  plugins: [cloudflareTest({ wrangler: { configPath: "./examples/embedded/wrangler.jsonc" } })],
  test: { name: "example", include: ["examples/**/*.workerd.test.ts"], testTimeout: 60_000 },
};

/** The engine's library, in a Durable Object of its own that has nothing else, and what it keeps in R2. */
export const libraryProject = {
  plugins: [
    cloudflareTest({
      main: "./packages/engine/src/library/testing/host-worker.ts",
      miniflare: {
        compatibilityDate: "2026-10-01",
        compatibilityFlags: ["nodejs_compat"],
        durableObjects: { HOST: { className: "TestHost", useSQLite: true } },
        r2Buckets: ["CONTENT"],
        d1Databases: ["SKILLS_DB"],
      },
    }),
  ],
  test: { name: "library", include: ["packages/engine/**/*.workerd.test.ts"], testTimeout: 60_000 },
};
