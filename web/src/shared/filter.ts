/** The terms of a filter: divided by blanks, except inside double quotes. */
export function terms(filter: string): string[] {
  return filter.match(/(?:[^\s"]|"[^"]*"?)+/g) ?? [];
}

/** Keys whose bare number chooses processes; in quotes it is an attribute's. */
const OF_PROCESSES = ["rank", "pid"];
/** A key that always chooses threads. */
const OF_THREADS = "thread";

/** The term that holds of exactly this value of an attribute; `null` where filters cannot say it. */
export function termOf(key: string, value: unknown): string | null {
  if (key === "" || key === OF_THREADS || /[\s"=!<>]|^\(/.test(key)) return null;
  const text = textOf(value);
  if (text === null) return null;
  const isPlain = /^[\w.+:@%/-]+$/.test(text) && !text.includes("..") && !OF_PROCESSES.includes(key);
  return `${key}=${isPlain ? text : `"${text}"`}`;
}

/** Longer texts may have been cut when they were recorded. */
const MOST_TEXT = 1000;

/** A value as filters compare it. Documents, what has quotes or lines, and numbers that a page does not know exactly have no such text. */
function textOf(value: unknown): string | null {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value) ? null : String(value);
  if (typeof value === "boolean") return String(value);
  // A number that is none arrives as a text, and equals nothing.
  return typeof value === "string" && value !== "NaN" && value.length <= MOST_TEXT && !/["\r\n\0]/.test(value) ? value : null;
}

/** The filter with one more term on an attribute; one on the same attribute with `=` is replaced. */
export function withTerm(filter: string, key: string, term: string): string {
  const start = OF_PROCESSES.includes(key) ? `${key}="` : `${key}=`;
  return [...terms(filter).filter((other) => !other.startsWith(start)), term].join(" ");
}

/** The filter without one of its terms. */
export function withoutTerm(filter: string, term: string): string {
  return terms(filter).filter((other) => other !== term).join(" ");
}

/** Whether every word of `words` is in one of the texts; case does not count. */
export function hasWords(words: string, texts: (string | null | undefined)[]): boolean {
  const all = texts.filter(Boolean).join("\n").toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}
