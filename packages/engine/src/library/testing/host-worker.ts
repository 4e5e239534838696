/** The Durable Object in which the library's tests run: it has nothing of its own. Tests alone import it. */
import { DurableObject } from "cloudflare:workers";

export class TestHost extends DurableObject {
  /** As the `Agent` of Cloudflare's Agents packages has it. */
  sql<T>(strings: TemplateStringsArray, ...values: (string | number | boolean | null)[]): T[] {
    return [...this.ctx.storage.sql.exec(strings.join("?"), ...values)] as T[];
  }

  get state(): DurableObjectState {
    return this.ctx;
  }
}

declare global {
  namespace Cloudflare {
    /** The bindings of the worker that runs the library's tests: `vitest.workerd.ts`. */
    interface Env {
      HOST: DurableObjectNamespace<TestHost>;
      CONTENT: R2Bucket;
      SKILLS_DB: D1Database;
    }
  }
}
