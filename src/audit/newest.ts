// The newest records, by time: a call that was interrupted is found after later ones (OBS-3).

interface Timed {
  /** In ISO format. */
  readonly time: string;
}

export function createNewest<T extends Timed>(limit: number) {
  const records: T[] = [];
  const trim = (): void => {
    records.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
    records.splice(0, records.length - limit);
  };
  return {
    add(record: T): void {
      records.push(record);
      // In batches: removing the first one moves all others.
      if (records.length >= 2 * limit) trim();
    },
    /** Returns them, newest last. */
    list(): readonly T[] {
      trim();
      return [...records];
    },
  };
}
