/** The bindings of the worker that runs the library's tests. */
declare namespace Cloudflare {
  interface Env {
    HOST: DurableObjectNamespace<import("./host-worker.ts").TestHost>;
  }
}
