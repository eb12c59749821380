/** A shared file carries its answers in itself, in an element with this id, and asks nobody. */
const ELEMENT = "hodo-inline";

/** An answer as it is, or deflated and in base 64. */
type Inline = { json: unknown } | { packed: string };
let data: Record<string, Inline> | null | undefined;

function load(): Record<string, Inline> | null {
  if (data === undefined) {
    const text = document.getElementById(ELEMENT)?.textContent;
    data = text ? (JSON.parse(text) as Record<string, Inline>) : null;
  }
  return data;
}

/** Whether this page is a shared file. */
export function isShareFile(): boolean {
  return load() !== null;
}

/** The answer that the file has for an address; 404 where it has none. */
export async function inlined(url: string): Promise<Response> {
  const found = load()?.[url];
  if (!found) return missing();
  if ("json" in found) return new Response(JSON.stringify(found.json));
  const bytes = Uint8Array.from(atob(found.packed), (sign) => sign.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")));
}

function missing(): Response {
  const error = "This file does not hold that. `hodo view` on the run shows all of it.";
  return new Response(JSON.stringify({ error }), { status: 404 });
}

/** The only run of a shared file. */
export function sharedRun(): string | null {
  const list = load()?.["api/runs"];
  const runs = list && "json" in list ? (list.json as { runs?: { id: string }[] }).runs : undefined;
  return runs?.[0]?.id ?? null;
}
