/** How it stands with the server's stream of events: `refused` is one that wants another token, `none` a server without a stream. */
export type Sign = "there" | "gone" | "refused" | "none";
export type EventName = "grew" | "runs";
/** Who is told of events; each connection of its own has a name, since between two of them events are missed. */
export interface Listener {
  sign(sign: Sign, connection: string): void;
  event(name: EventName, data: string): void;
}

const EVENTS = "api/events";
const NAMES: readonly EventName[] = ["grew", "runs"];
/** Before a server that was gone is asked again, where the browser does not do so by itself. */
const PAUSE_MS = 3000;

/** Listens to the server; returns what stops it. The browser connects again by itself after most failures. */
export function listen(to: Listener): () => void {
  let events: EventSource;
  let timer = 0;
  let isOver = false;
  const closed = async () => {
    // An EventSource does not say why it was refused.
    const status = await fetch(EVENTS, { method: "HEAD", credentials: "same-origin" }).then((answer) => answer.status, () => null);
    if (isOver) return;
    if (status === null) timer = window.setTimeout(connect, PAUSE_MS);
    to.sign(status === null ? "gone" : status === 401 || status === 403 ? "refused" : "none", "");
  };
  const connect = () => {
    events = new EventSource(EVENTS);
    events.addEventListener("open", () => to.sign("there", String(Math.random())));
    events.addEventListener("error", () => (events.readyState === EventSource.CLOSED ? void closed() : to.sign("gone", "")));
    for (const name of NAMES) events.addEventListener(name, ({ data }: MessageEvent<string>) => to.event(name, data));
  };
  connect();
  return () => {
    isOver = true;
    clearTimeout(timer);
    events.close();
  };
}
