/** What a column can be sorted by. */
export type Sortable = number | string | null | undefined;

/** Rows in the order of a column; what is not known comes last either way. */
export function sortRows<Row>(rows: readonly Row[], value: (row: Row) => Sortable, isDescending: boolean): Row[] {
  const sign = isDescending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    const [noX, noY] = [x === null || x === undefined, y === null || y === undefined];
    if (noX || noY) return Number(noX) - Number(noY);
    if (typeof x === "number" && typeof y === "number") return (x - y) * sign;
    return String(x).localeCompare(String(y)) * sign;
  });
}

/** Reads `name` or `-name` (downwards) as the address has it. */
export function readSort(text: string | undefined, fallback: string): { key: string; isDescending: boolean } {
  const sort = text || fallback;
  return sort.startsWith("-") ? { key: sort.slice(1), isDescending: true } : { key: sort, isDescending: false };
}
