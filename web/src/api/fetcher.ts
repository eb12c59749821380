/** Runs beside the page: fetches what is large, so that its arrival does not hold up a frame. */

/** What the page says: fetch this, or stop fetching it. */
export type Wish = { id: number; url: string } | { stop: number };
/** What came; without a status the server did not answer. */
export interface Arrival { id: number; status: number | null; bytes: ArrayBuffer }

const underWay = new Map<number, AbortController>();
const scope = self as unknown as { postMessage(arrival: Arrival, moved: Transferable[]): void };

async function fetched(id: number, url: string): Promise<void> {
  const abort = new AbortController();
  underWay.set(id, abort);
  let arrival: Arrival = { id, status: null, bytes: new ArrayBuffer(0) };
  try {
    const response = await fetch(url, { credentials: "same-origin", signal: abort.signal });
    arrival = { id, status: response.status, bytes: await response.arrayBuffer() };
  } catch {
    // The page knows whether it stopped this, and says so otherwise.
  }
  underWay.delete(id);
  scope.postMessage(arrival, [arrival.bytes]);
}

addEventListener("message", ({ data }: MessageEvent<Wish>) => {
  if ("stop" in data) underWay.get(data.stop)?.abort();
  else void fetched(data.id, data.url);
});
