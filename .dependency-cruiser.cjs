/** Who may import whom. Run by `npm run check`; each rule says why in its comment. */
const worker = (name) => ({
  name: `${name}-imports-no-other-worker`,
  comment: "Workers meet in packages/shared alone, not even for types.",
  severity: "error",
  from: { path: `^workers/${name}/` },
  to: { path: "^workers/", pathNot: `^workers/${name}/` },
});

/** In a file of the tree that no rule of its own allows, this import is an error. */
const only = (name, comment, to, allowed) => ({
  name,
  comment,
  severity: "error",
  from: { path: "^(packages|workers)/", pathNot: [...allowed, "\\.test\\.ts$"] },
  to,
});

module.exports = {
  forbidden: [
    worker("api"),
    worker("session-do"),
    worker("tenant-do"),
    worker("compactor"),
    {
      name: "no-cycles",
      comment: "A cycle has no order to read it in.",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    {
      name: "packages-import-no-worker",
      comment: "Packages are below the workers.",
      severity: "error",
      from: { path: "^packages/" },
      to: { path: "^workers/" },
    },
    {
      name: "shared-is-a-contract",
      comment: "packages/shared imports zod and the id library alone.",
      severity: "error",
      from: { path: "^packages/shared/src", pathNot: "\\.test\\.ts$" },
      to: { pathNot: ["^packages/shared/src", "node_modules/zod/", "node_modules/typeid-js/"] },
    },
    {
      name: "engine-is-a-library",
      comment: "packages/engine imports packages/shared, zod and a hash alone.",
      severity: "error",
      from: { path: "^packages/engine/src", pathNot: ["\\.test\\.ts$", "/testing/"] },
      to: { pathNot: ["^packages/(engine|shared)/src", "node_modules/zod/", "^(node:)?crypto$"] },
    },
    {
      name: "pure-billing",
      comment: "Prices are computed without a store; the price book alone reads one.",
      severity: "error",
      from: { path: "^workers/api/src/billing/", pathNot: ["price-book\\.ts$", "\\.test\\.ts$"] },
      to: { path: "^workers/api/src/(catalog|http|routes)/" },
    },
    {
      name: "storage-knows-no-http",
      comment: "The catalog knows SQL, and nothing of who asks.",
      severity: "error",
      from: { path: "^workers/api/src/catalog/" },
      to: { path: "^workers/api/src/(routes|reports|archive)/" },
    },
    only("one-place-calls-drizzle", "Connections are made in catalog/db.ts.", { path: "drizzle-orm/d1" }, [
      "^workers/api/src/catalog/db\\.ts$",
    ]),
    only(
      "the-ai-sdk-stays-in-the-compactor",
      "One call of a model, in one place.",
      { path: ["node_modules/ai/", "node_modules/@ai-sdk/", "node_modules/workers-ai-provider/"] },
      ["^workers/compactor/src/(models|summarise)\\.ts$", "^workers/compactor/src/extractive/extractive-model\\.ts$"],
    ),
    {
      name: "no-drawers",
      comment: "A file without a name of its own is not understood yet.",
      severity: "error",
      from: {},
      to: { path: "^(packages|workers|scripts|tests|bench)/.*/(utils?|helpers?|common|lib|misc|core|types)([.]ts$|/)" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "workerd", "worker", "default", "types"],
      extensions: [".ts", ".mjs", ".js", ".cjs", ".d.ts"],
    },
    parser: "swc",
  },
};
