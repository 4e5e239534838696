/** The worker of the session objects. Nobody reaches it over HTTP. */
export { SessionDO } from "./session-do.ts";

export default {
  fetch: () => new Response(null, { status: 404 }),
} satisfies ExportedHandler;
