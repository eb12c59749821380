import type { Arrival, Wish } from "./fetcher";

/** What a server answered. */
export interface Answer { status: number; bytes: ArrayBuffer }

/** Fetches on a thread of its own. */
class Beside {
  private readonly waiting = new Map<number, (arrival: Arrival) => void>();
  private last = 0;

  constructor(private readonly worker: Worker) {
    worker.addEventListener("message", ({ data }: MessageEvent<Arrival>) => {
      this.waiting.get(data.id)?.(data);
      this.waiting.delete(data.id);
    });
  }

  async fetch(url: string, signal?: AbortSignal): Promise<Answer> {
    const id = ++this.last;
    const arrived = new Promise<Arrival>((done) => this.waiting.set(id, done));
    const stop = () => this.tell({ stop: id });
    signal?.addEventListener("abort", stop, { once: true });
    this.tell({ id, url: new URL(url, document.baseURI).href });
    const { status, bytes } = await arrived;
    signal?.removeEventListener("abort", stop);
    signal?.throwIfAborted();
    if (status === null) throw new TypeError("the server does not answer");
    return { status, bytes };
  }

  private tell(wish: Wish): void {
    this.worker.postMessage(wish);
  }
}

let beside: Beside | null | undefined;

/** The address of the script that fetches, as the page's head has it. */
function script(): string {
  return document.querySelector<HTMLMetaElement>("meta[name=hodo-fetcher]")?.content ?? "";
}

/** Fetches beside the page where that can be, else in it. */
export async function fetchBeside(url: string, signal?: AbortSignal): Promise<Answer> {
  if (beside === undefined) {
    const name = typeof Worker === "undefined" ? "" : script();
    beside = name ? new Beside(new Worker(name, { type: "module" })) : null;
  }
  if (beside) return beside.fetch(url, signal);
  const response = await fetch(url, { credentials: "same-origin", signal });
  return { status: response.status, bytes: await response.arrayBuffer() };
}
