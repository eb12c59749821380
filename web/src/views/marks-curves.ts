/** Smooths by a moving mean that forgets; 0 leaves values as they are. Starts without a bias to 0. */
export function smoothed(values: readonly (number | null)[], weight: number): (number | null)[] {
  if (weight <= 0) return [...values];
  let last = 0;
  let bias = 1;
  return values.map((value) => {
    if (value === null || !Number.isFinite(value)) return null;
    last = last * weight + value * (1 - weight);
    bias *= weight;
    return last / (1 - bias);
  });
}

/** Several curves on one axis: all moments in order, and nothing where a curve has no value. */
export function joined(curves: readonly { x: readonly number[]; y: readonly (number | null)[] }[]): { x: number[]; ys: (number | null)[][] } {
  if (curves.length === 1) return { x: [...curves[0]!.x], ys: [[...curves[0]!.y]] };
  const x = [...new Set(curves.flatMap((curve) => curve.x))].sort((a, b) => a - b);
  const place = new Map(x.map((value, at) => [value, at]));
  const ys = curves.map((curve) => {
    const row = new Array<number | null>(x.length).fill(null);
    curve.x.forEach((value, at) => (row[place.get(value)!] = curve.y[at] ?? null));
    return bridged(row);
  });
  return { x, ys };
}

/** Fills holes between two known values in a straight line, as the eye would; ends stay open. */
function bridged(row: (number | null)[]): (number | null)[] {
  let from = -1;
  row.forEach((value, at) => {
    if (value === null) return;
    for (let hole = from + 1; from >= 0 && hole < at; hole++) row[hole] = row[from]! + ((value - row[from]!) * (hole - from)) / (at - from);
    from = at;
  });
  return row;
}
