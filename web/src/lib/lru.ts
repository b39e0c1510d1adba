// A cache that forgets what was not used for the longest time once it is over its budget.
export class LruCache<T> {
  private readonly entries = new Map<string, { value: T; size: number }>();
  private used = 0;

  // `budget` in the unit of the sizes that `set` is given.
  constructor(readonly budget: number) {}

  get size(): number {
    return this.used;
  }

  has(key: string): boolean {
    return this.entries.has(key);
  }

  // Counts as a use.
  get(key: string): T | undefined {
    const entry = this.entries.get(key);
    if (!entry) return undefined;
    // A Map keeps the order of insertion: the first is the one that was not used for the longest time.
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry.value;
  }

  // What alone is over the budget is not kept.
  set(key: string, value: T, size: number): void {
    this.delete(key);
    if (size > this.budget) return;
    this.entries.set(key, { value, size });
    this.used += size;
    for (const oldest of this.entries.keys()) {
      if (this.used <= this.budget) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const entry = this.entries.get(key);
    if (!entry) return;
    this.used -= entry.size;
    this.entries.delete(key);
  }

  clear(): void {
    this.entries.clear();
    this.used = 0;
  }
}
