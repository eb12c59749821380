/** Names of columns of which no two are the same, to sort and copy by: a join may give one name twice. */
export function columnKeys(names: readonly string[]): string[] {
  const taken = new Set(names);
  const seen = new Set<string>();
  return names.map((name, at) => {
    let key = name || `column ${at + 1}`;
    for (let number = 2; seen.has(key) || (key !== name && taken.has(key)); number++) key = `${name || "column"} ${number}`;
    seen.add(key);
    return key;
  });
}
