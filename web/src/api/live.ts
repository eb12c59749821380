import { signal } from "@preact/signals";
import { forget, forgetList } from "./client";
import { isShareFile } from "./inline";

/** How far a run has grown, as the server last said. */
export interface Growth { generation: number; end_ns: number }

/** Growth by run, of runs that are being recorded. */
export const growth = signal<Record<string, Growth>>({});
/** Changes whenever the list of runs did. */
export const listVersion = signal(0);
/** Whether the server is there to tell of growth; `null` before it was asked. */
export const connected = signal<boolean | null>(null);

/** Listens for growth for as long as the page is open; the browser connects again by itself. */
export function followGrowth(): void {
  if (isShareFile() || typeof EventSource === "undefined") return;
  const events = new EventSource("api/events");
  events.addEventListener("open", () => (connected.value = true));
  // A server that refuses the stream for good is one that does not tell of growth, not one that is gone.
  events.addEventListener("error", () => (connected.value = events.readyState === EventSource.CLOSED ? null : false));
  events.addEventListener("grew", (event) => grew(event.data as string));
  events.addEventListener("runs", () => {
    forgetList();
    listVersion.value++;
  });
}

function grew(data: string): void {
  const { run, generation, end_ns } = JSON.parse(data) as Growth & { run: string };
  forget(`api/runs/${encodeURIComponent(run)}/`);
  growth.value = { ...growth.value, [run]: { generation, end_ns } };
}
