/** drizzle-kit's settings: the catalog's schema in, SQL that wrangler applies out. Run by `npm run migration`. */
import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "sqlite",
  schema: "./workers/api/src/catalog/*schema.ts",
  out: "./migrations",
});
