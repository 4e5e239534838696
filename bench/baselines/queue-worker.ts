/** The least that a consumer can do: it counts what it is given. `POST /N` sends N messages, one by one; `GET` tells the count. */
type QueueEnv = { MESSAGES: Queue<{ readonly index: number }> };

let handled = 0;

export default {
  async fetch(request, env) {
    if (request.method === "POST") {
      const count = Number(new URL(request.url).pathname.slice(1));
      handled = 0;
      for (let index = 0; index < count; index++) await env.MESSAGES.send({ index });
    }
    return Response.json({ handled });
  },

  async queue(batch) {
    for (const message of batch.messages) {
      handled += 1;
      message.ack();
    }
  },
} satisfies ExportedHandler<QueueEnv>;
