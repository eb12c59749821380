import { getBytes, runUrl } from "../api/client";
import { isShareFile } from "../api/inline";
import { Lru } from "../shared/lru";
import { coarser, keyText, tileSpan, type TileKey } from "./tile-key";
import { decodeTile, type Tile } from "./tile";

const KEPT_TILES = 600;
const AT_ONCE = 6;
const COARSER_STEPS = 26;

/** The tiles of a run: asked for as they are wanted, kept while they may be wanted again. */
export class TileStore {
  private readonly tiles = new Lru<string, Tile>(KEPT_TILES);
  /** Tiles of the whole run, which stand in for all others and are never forgotten. */
  private readonly whole = new Map<string, Tile>();
  /** Where the run ends: a first tile that reaches so far holds all of it. */
  end_ns = Infinity;
  private readonly asked = new Map<string, AbortController>();
  private queue: TileKey[] = [];
  private failed = new Set<string>();

  constructor(
    private readonly run: string,
    private readonly filter: () => string,
    private readonly arrived: (key: TileKey) => void,
    private readonly refused: (error: Error) => void,
  ) {}

  /** The tile, if it is here. */
  get(key: TileKey): Tile | undefined {
    return this.tiles.get(keyText(key));
  }

  /** The tile, or the finest coarser one here, or that of the whole run. */
  best(key: TileKey): Tile | undefined {
    let at = key;
    for (let step = 0; step < COARSER_STEPS; step++) {
      const tile = this.tiles.get(keyText(at));
      if (tile) return tile;
      at = coarser(at);
    }
    return this.whole.get(key.track);
  }

  /** Asks for what is missing of these, most wanted first, and stops asking for everything else. */
  want(keys: readonly TileKey[]): void {
    const wanted = new Set(keys.map(keyText));
    for (const [text, request] of this.asked) {
      if (wanted.has(text)) continue;
      this.asked.delete(text);
      request.abort();
    }
    this.queue = keys.filter((key) => {
      const text = keyText(key);
      return !this.asked.has(text) && !this.failed.has(text) && !this.tiles.get(text);
    });
    this.pump();
  }

  /** Whether nothing is being asked for. */
  get settled(): boolean {
    return this.queue.length === 0 && this.asked.size === 0;
  }

  private pump(): void {
    while (this.asked.size < AT_ONCE) {
      const key = this.queue.shift();
      if (!key) return;
      void this.load(key);
    }
  }

  private async load(key: TileKey): Promise<void> {
    const text = keyText(key);
    const request = new AbortController();
    this.asked.set(text, request);
    try {
      const buffer = await getBytes(this.url(key), request.signal);
      const tile = decodeTile(buffer);
      this.tiles.set(text, tile);
      if (key.index === 0 && tileSpan(key).t1 >= this.end_ns) this.whole.set(key.track, tile);
      this.arrived(key);
    } catch (error) {
      if (!request.signal.aborted) {
        this.failed.add(text);
        if (!isShareFile()) this.refused(error as Error);
      }
    } finally {
      if (this.asked.get(text) === request) this.asked.delete(text);
      this.pump();
    }
  }

  private url(key: TileKey): string {
    const { t0, t1 } = tileSpan(key);
    return runUrl(this.run, "tiles", { track: key.track, t0, t1, res: key.res_ns, filter: this.filter() });
  }

  /** Forgets tiles that reach past a moment, since the run has grown there. */
  forgetFrom(end_ns: number): void {
    this.failed.clear();
    this.tiles.deleteWhere((text) => {
      const [, res, index] = text.split("|");
      return (Number(index) + 1) * Number(res) * 4096 > end_ns;
    });
  }

  /** Forgets everything: the filter has changed. */
  clear(): void {
    for (const request of this.asked.values()) request.abort();
    this.asked.clear();
    this.queue = [];
    this.failed.clear();
    this.whole.clear();
    this.tiles.deleteWhere(() => true);
  }
}
