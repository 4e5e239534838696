/** Looking into JSON of unknown shape. Pure. */
export type Json = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
export const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);
