/** How far back single calls are kept. What reads events, as groups by tag and explanations do, reaches no further. */

/** An instant, or null while all are kept. */
export const eventsSince = async (): Promise<string | null> => null;
