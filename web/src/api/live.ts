import { signal } from "@preact/signals";
import { forgetList, forgetRun, forgetRuns, wasInVain } from "./client";
import { isShareFile } from "./inline";
import type { EventName, Listener, Sign } from "./stream";
import { listenTogether } from "./tabs";

/** How far a run has grown, as the server last said. */
export interface Growth { generation: number; end_ns: number }

/** Growth by run, of runs that are being recorded. */
export const growth = signal<Record<string, Growth>>({});
/** Changes whenever the list of runs did. */
export const listVersion = signal(0);
/** How often the server was there again after it was not: anything may have changed meanwhile, and what was asked may have failed. */
export const reconnects = signal(0);
/** Whether the server is there to tell of growth; `null` before it was asked. */
export const connected = signal<boolean | null>(null);
/** Whether the server at this address is another than the one that the page came from. */
export const isOldAddress = signal(false);

/** What changes whenever one of some runs has grown, or may have. */
export function versionOf(runs: readonly string[]): string {
  return [reconnects.value, ...runs.map((run) => growth.value[run]?.generation ?? 0)].join();
}

/** Listens for growth for as long as the page is shown; what was missed meanwhile is asked anew. */
export function followGrowth(): void {
  if (isShareFile() || typeof EventSource === "undefined") return;
  let stop: (() => void) | null = null;
  const heard = new Heard();
  const look = () => {
    if (document.hidden) {
      stop?.();
      stop = null;
      heard.missed();
    } else stop ??= listenTogether(heard);
  };
  document.addEventListener("visibilitychange", look);
  look();
}

/** Takes in what is heard, and knows when something may have been missed. */
class Heard implements Listener {
  /** The connection that was heard last; `undefined` while nothing can have been missed. */
  private connection: string | null | undefined;

  missed(): void {
    this.connection = null;
  }

  sign(sign: Sign, connection: string): void {
    connected.value = sign === "none" || sign === "refused" ? null : sign === "there";
    isOldAddress.value = sign === "refused";
    if (sign !== "there") return this.missed();
    if (connection === this.connection) return;
    if (this.connection !== undefined || wasInVain()) catchUp();
    this.connection = connection;
  }

  event(name: EventName, data: string): void {
    if (name === "grew") grew(data);
    else listChanged();
  }
}

/** Has the list of runs asked for again. */
export function listChanged(): void {
  forgetList();
  listVersion.value++;
}

function grew(data: string): void {
  const { run, generation, end_ns } = JSON.parse(data) as Growth & { run: string };
  forgetRun(run);
  growth.value = { ...growth.value, [run]: { generation, end_ns } };
}

/** Has everything asked anew that is looked at, also what could not be had. */
function catchUp(): void {
  forgetRuns();
  reconnects.value++;
  listChanged();
}
