/** The terms of a filter: divided by blanks, except inside double quotes. */
export function terms(filter: string): string[] {
  return filter.match(/(?:[^\s"]|"[^"]*"?)+/g) ?? [];
}

/** The filter with one more term `key=value`; one on the same key with `=` is replaced. */
export function withTerm(filter: string, key: string, value: string): string {
  const quoted = /\s/.test(value) ? `"${value.replaceAll('"', "")}"` : value;
  const others = terms(filter).filter((term) => !term.startsWith(key + "="));
  return [...others, `${key}=${quoted}`].join(" ");
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
