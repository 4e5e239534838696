/**
 * The four kinds of provider that a context block can have, told apart by their methods. Types and one pure
 * function. Source: the context providers of Cloudflare's Session API.
 */
type Awaitable<T> = T | Promise<T>;

/** Text for the prompt, and nothing that a model could change. */
export interface ContextProvider {
  /** The block's text; null when it has none yet. */
  get(): Awaitable<string | null>;
  /** Called once with the block's label, before anything else is. */
  init?(label: string): Awaitable<void>;
}

/** Text that a model may rewrite with `set_context`. */
export interface WritableContextProvider extends ContextProvider {
  set(content: string): Awaitable<void>;
}

/** Documents by key. `get` lists them, a line each; `load_context` loads one. */
export interface SkillProvider extends ContextProvider {
  /** Null: there is none with this key. */
  load(key: string): Awaitable<string | null>;
  set?(key: string, content: string, description?: string): Awaitable<void>;
}

/** Entries by key that are searched. `get` says how many there are; `search_context` finds some. */
export interface SearchProvider extends ContextProvider {
  /** What was found, best first, as text for a model; null when nothing was. */
  search(query: string): Awaitable<string | null>;
  set?(key: string, content: string): Awaitable<void>;
}

export type AnyContextProvider = ContextProvider | WritableContextProvider | SkillProvider | SearchProvider;

/** What a model can do with a block. `keyed`: what it writes has a key. */
export type BlockAbilities = { readonly writable: boolean; readonly isSkill: boolean; readonly isSearchable: boolean };

const has = <K extends string>(provider: object, name: K): provider is Record<K, unknown> =>
  typeof Reflect.get(provider, name) === "function";

export const isSkillProvider = (provider: AnyContextProvider): provider is SkillProvider => has(provider, "load");
export const isSearchProvider = (provider: AnyContextProvider): provider is SearchProvider => has(provider, "search");
/** A provider with `set` of a plain text: one that has keys sets an entry. */
export const isWritableProvider = (provider: AnyContextProvider): provider is WritableContextProvider =>
  has(provider, "set") && !isSkillProvider(provider) && !isSearchProvider(provider);

/** A provider may be of several kinds: what has `load` and `search` both is loaded and searched. */
export const abilitiesOf = (provider: AnyContextProvider): BlockAbilities => ({
  writable: has(provider, "set"),
  isSkill: isSkillProvider(provider),
  isSearchable: isSearchProvider(provider),
});
