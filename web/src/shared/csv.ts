/** A cell as CSV has it: quoted where it must be, and never taken for a formula by a spreadsheet. */
export function csvCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  const raw = typeof value === "object" ? JSON.stringify(value) : String(value);
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(raw) ? "'" + raw : raw;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Rows as CSV with a line of headings. */
export function csv(headings: string[], rows: unknown[][]): string {
  return [headings, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}
