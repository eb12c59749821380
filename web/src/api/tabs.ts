import { listen, type EventName, type Listener, type Sign } from "./stream";

/** What tabs tell each other. */
type Word = { ask: true } | { sign: Sign; connection: string } | { event: EventName; data: string };

const NAME = "hodo-events";

/**
 * Listens to the server's events as one of the tabs that show the page; returns what stops it. A browser opens six connections
 * to a server in all, so one tab holds the stream and tells the others.
 */
export function listenTogether(to: Listener): () => void {
  if (typeof BroadcastChannel === "undefined" || !navigator.locks) return listen(to);
  const channel = new BroadcastChannel(NAME);
  const over = new AbortController();
  const tell = (word: Word) => { if (!over.signal.aborted) channel.postMessage(word); };
  let last: Word | null = null;
  channel.addEventListener("message", ({ data: word }: MessageEvent<Word>) => {
    if ("ask" in word) {
      if (last) tell(last);
    } else if ("sign" in word) to.sign(word.sign, word.connection);
    else to.event(word.event, word.data);
  });
  tell({ ask: true });
  const hold = () => new Promise<void>((release) => {
    const stop = listen({
      sign(sign, connection) {
        last = { sign, connection };
        tell(last);
        to.sign(sign, connection);
        // Another tab may come with a newer token.
        if (sign === "refused" || sign === "none") end();
      },
      event(event, data) {
        tell({ event, data });
        to.event(event, data);
      },
    });
    const end = () => {
      last = null;
      stop();
      release();
    };
    over.signal.addEventListener("abort", end);
  });
  navigator.locks.request(NAME, { signal: over.signal }, hold).catch(() => undefined);
  return () => {
    over.abort();
    channel.close();
  };
}
