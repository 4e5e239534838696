/**
 * Porter's stemmer for English words, so that "deploys" finds "deployed". Here and not in SQLite's tokenizer,
 * so that a snippet marks exactly what the index found, and a prefix is looked for in words, not in stems.
 * Source: M. F. Porter, "An algorithm for suffix stripping", 1980. Pure.
 */
const C = "[^aeiou](?:[^aeiouy])*";
const V = "[aeiouy][aeiou]*";
/** Measures of a stem: at least one, exactly one, at least two turns from vowels to consonants. */
const M_GT_0 = new RegExp(`^(?:${C})?${V}${C}`);
const M_EQ_1 = new RegExp(`^(?:${C})?${V}${C}(?:${V})?$`);
const M_GT_1 = new RegExp(`^(?:${C})?${V}${C}${V}${C}`);
const HAS_VOWEL = new RegExp(`^(?:${C})?[aeiouy]`);
/** Ends like "hop", and not in w, x or y. */
const SHORT_END = new RegExp(`^${C}[aeiouy][^aeiouwxy]$`);
/** After a consonant alone, as in his later "Porter2": else "deploy" would not find "deployment". */
const FINAL_Y = /[^aeiou]y$/;
const DOUBLE_END = /([^aeiouylsz])\1$/;

const STEP_2 = new Map(
  Object.entries({
    ational: "ate",
    tional: "tion",
    enci: "ence",
    anci: "ance",
    izer: "ize",
    bli: "ble",
    alli: "al",
    entli: "ent",
    eli: "e",
    ousli: "ous",
    ization: "ize",
    ation: "ate",
    ator: "ate",
    alism: "al",
    iveness: "ive",
    fulness: "ful",
    ousness: "ous",
    aliti: "al",
    iviti: "ive",
    biliti: "ble",
    logi: "log",
  }),
);
const STEP_3 = new Map(Object.entries({ icate: "ic", ative: "", alize: "al", iciti: "ic", ical: "ic", ful: "", ness: "" }));
const suffixesOf = (step: ReadonlyMap<string, string>): RegExp =>
  new RegExp(`^(.+?)(${[...step.keys()].toSorted((a, b) => b.length - a.length).join("|")})$`);
const SUFFIX_2 = suffixesOf(STEP_2);
const SUFFIX_3 = suffixesOf(STEP_3);
const SUFFIX_4 = /^(.+?)(al|ance|ence|er|ic|able|ible|ant|ement|ment|ent|ou|ism|ate|iti|ous|ive|ize)$/;
const SUFFIX_4_ION = /^(.+?[st])ion$/;

function pastAndProgressive(word: string): string {
  if (word.endsWith("eed")) return M_GT_0.test(word.slice(0, -3)) ? word.slice(0, -1) : word;
  const stem = /^(.+)(?:ed|ing)$/.exec(word)?.[1];
  if (stem === undefined || !HAS_VOWEL.test(stem)) return word;
  if (/(?:at|bl|iz)$/.test(stem)) return `${stem}e`;
  if (DOUBLE_END.test(stem)) return stem.slice(0, -1);
  return SHORT_END.test(stem) ? `${stem}e` : stem;
}

function replaceSuffix(word: string, suffix: RegExp, step: ReadonlyMap<string, string>): string {
  const [, stem, found] = suffix.exec(word) ?? [];
  return stem !== undefined && found !== undefined && M_GT_0.test(stem) ? stem + (step.get(found) ?? "") : word;
}

function dropSuffix(word: string): string {
  const stem = SUFFIX_4.exec(word)?.[1] ?? SUFFIX_4_ION.exec(word)?.[1];
  return stem !== undefined && M_GT_1.test(stem) ? stem : word;
}

function dropFinalE(word: string): string {
  if (!word.endsWith("e")) return word;
  const stem = word.slice(0, -1);
  return M_GT_1.test(stem) || (M_EQ_1.test(stem) && !SHORT_END.test(stem)) ? stem : word;
}

const STEMMABLE = /^[a-z]{3,64}$/;

/** The stem of a word in lower case. What is no English word comes back as it is. */
export function stemOf(word: string): string {
  if (!STEMMABLE.test(word)) return word;
  // A "y" at the beginning is a consonant.
  let stem = word.startsWith("y") ? `Y${word.slice(1)}` : word;
  stem = stem.replace(/(ss|i)es$/, "$1").replace(/([^s])s$/, "$1");
  stem = pastAndProgressive(stem);
  if (FINAL_Y.test(stem) && HAS_VOWEL.test(stem.slice(0, -1))) stem = `${stem.slice(0, -1)}i`;
  stem = replaceSuffix(stem, SUFFIX_2, STEP_2);
  stem = replaceSuffix(stem, SUFFIX_3, STEP_3);
  stem = dropFinalE(dropSuffix(stem));
  if (stem.endsWith("ll") && M_GT_1.test(stem)) stem = stem.slice(0, -1);
  return stem.toLowerCase();
}
