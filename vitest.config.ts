/** The suites. The suffix of a test's name says its runtime. */
import { defineConfig } from "vitest/config";
import { exampleProject, libraryProject, tenantWorkerdProject, workerdProject } from "./vitest.workerd.ts";

const node = (name: string, include: string[], exclude: string[] = []) => ({
  test: { name, include, exclude: ["**/node_modules/**", ...exclude], testTimeout: 60_000, hookTimeout: 120_000 },
});

export default defineConfig({
  test: {
    projects: [
      node(
        "node",
        ["packages/**/*.test.ts", "workers/**/*.test.ts", "scripts/**/*.test.ts", "tests/support/**/*.test.ts"],
        ["**/*.workerd.test.ts"],
      ),
      workerdProject,
      tenantWorkerdProject,
      libraryProject,
      exampleProject,
      // They wait for real queues most of the time: two at once.
      { test: { ...node("e2e", ["tests/e2e/**/*.e2e.test.ts"]).test, maxWorkers: 2 } },
      { test: { ...node("crash", ["tests/crash/**/*.test.ts"]).test, fileParallelism: false, testTimeout: 180_000 } },
    ],
  },
});
