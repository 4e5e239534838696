/** The demo's own conversations. Each has tool calls, and is long enough to be compacted under the demo's policy. */
import type { Conversation } from "./conversation.ts";
import { incident } from "./incident.ts";
import { journey } from "./journey.ts";
import { support } from "./support.ts";
import { warehouse } from "./warehouse.ts";

export const demoConversations: readonly Conversation[] = [incident, journey, warehouse, support];
