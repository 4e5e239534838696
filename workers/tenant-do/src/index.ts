/** The worker of the tenants' objects. Nobody reaches it over HTTP. */
export { TenantSearch } from "./tenant-search.ts";

export default {
  fetch: () => new Response(null, { status: 404 }),
} satisfies ExportedHandler;
