/** A map that forgets what was not used for longest, where there are too many or they weigh too much. */
export class Lru<K, V> {
  private readonly map = new Map<K, { value: V; weight: number }>();
  /** What all values weigh. */
  private heavy = 0;

  constructor(public most: number, private readonly mostWeight = Infinity) {}

  get size(): number {
    return this.map.size;
  }

  get(key: K): V | undefined {
    const held = this.map.get(key);
    if (held === undefined) return undefined;
    this.map.delete(key);
    this.map.set(key, held);
    return held.value;
  }

  /** Keeps a value, the newest of all, whatever it weighs. */
  set(key: K, value: V, weight = 0): void {
    this.delete(key);
    this.map.set(key, { value, weight });
    this.heavy += weight;
    this.shrink(key);
  }

  /** Says what a value weighs, once that is known; one that is no longer kept weighs nothing. */
  weigh(key: K, value: V, weight: number): void {
    const held = this.map.get(key);
    if (held?.value !== value) return;
    this.heavy += weight - held.weight;
    held.weight = weight;
    this.shrink(key);
  }

  delete(key: K): void {
    this.heavy -= this.map.get(key)?.weight ?? 0;
    this.map.delete(key);
  }

  deleteWhere(test: (key: K) => boolean): void {
    for (const key of [...this.map.keys()]) if (test(key)) this.delete(key);
  }

  private shrink(kept: K): void {
    for (const key of this.map.keys()) {
      if (this.map.size <= this.most && this.heavy <= this.mostWeight) return;
      if (key !== kept) this.delete(key);
    }
  }
}
