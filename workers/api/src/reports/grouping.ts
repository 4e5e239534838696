/** `group_by` as people write it: names with commas between, `tag.KEY` for a tag. Pure. */
import { type Grouping, REPORT_GROUPS, type ReportGroup, TAG_PREFIX } from "@sessionplane/shared/report";

/** As of the tags themselves: see `usage-event.ts`. */
const MAX_TAG_KEY = 64;
const MAX_TAGS = 16;

const isGroup = (name: string): name is ReportGroup => REPORT_GROUPS.some((group) => group === name);
const isTag = (name: string): boolean =>
  name.startsWith(TAG_PREFIX) && name.length > TAG_PREFIX.length && name.length <= TAG_PREFIX.length + MAX_TAG_KEY;

/** Where a key has a comma or a backslash, a backslash stands before it. */
const namesIn = (text: string): string[] => {
  const names = text.match(/(?:\\[\s\S]?|[^,\\])+/g) ?? [];
  return [...new Set(names.map((name) => name.replaceAll(/\\([\s\S])/g, "$1")))];
};

/** Null when a name is of no group. */
export function parseGrouping(text: string): Grouping | null {
  const names = namesIn(text);
  const groups = names.filter(isGroup);
  const tags = names.filter(isTag).map((name) => name.slice(TAG_PREFIX.length));
  return groups.length + tags.length === names.length && tags.length <= MAX_TAGS ? { groups, tags } : null;
}

export const namesOf = ({ groups, tags }: Grouping): string[] => [...groups, ...tags.map((key) => `${TAG_PREFIX}${key}`)];
