// Postings of a search index: weighted counts per entry, sorted by key once all entries are added.

/** BM25 parameters: saturation of repeated words, and strength of length normalisation. */
export const K1 = 1.2;
export const B = 0.75;

/** Collects weighted counts of keys, one entry at a time. */
export interface Counts {
  begin(entry: number): void;
  add(key: number, weight: number): void;
  sort(norms: Float64Array, isKept?: (key: number) => boolean): Postings;
}

/** The entries that contain a key, and its weight in each. */
export interface Postings {
  /** Offset of each key in `entries` and `weights`. */
  readonly starts: Int32Array;
  readonly entries: Int32Array;
  readonly weights: Float32Array;
}

export function createCounts(total: number): Counts {
  const starts = new Int32Array(total + 1);
  let keys = new Int32Array(1 << 12);
  let weights = new Float32Array(1 << 12);
  // Slot of the latest count of each key; reused within one entry.
  let slots = new Int32Array(1 << 12).fill(-1);
  let size = 0;
  let first = 0;
  let largest = -1;
  return {
    begin(entry) {
      first = size;
      starts[entry] = size;
    },
    add(key, weight) {
      if (key > largest) {
        largest = key;
        if (key >= slots.length) slots = copyInto(new Int32Array(slots.length * 2).fill(-1), slots);
      }
      const slot = slots[key]!;
      if (slot >= first) {
        weights[slot]! += weight;
        return;
      }
      if (size === keys.length) {
        keys = copyInto(new Int32Array(size * 2), keys);
        weights = copyInto(new Float32Array(size * 2), weights);
      }
      keys[size] = key;
      weights[size] = weight;
      slots[key] = size++;
    },
    sort(norms, isKept = () => true) {
      starts[total] = size;
      const kept = Uint8Array.from({ length: largest + 1 }, (_, key) => Number(isKept(key)));
      const sorted = new Int32Array(largest + 2);
      for (let index = 0; index < size; index++) sorted[keys[index]! + 1]! += kept[keys[index]!]!;
      for (let key = 0; key <= largest; key++) sorted[key + 1]! += sorted[key]!;
      const next = sorted.slice();
      const entries = new Int32Array(sorted[largest + 1]!);
      const scaled = new Float32Array(entries.length);
      for (let at = 0; at < total; at++) {
        const end = starts[at + 1]!;
        for (let index = starts[at]!; index < end; index++) {
          if (kept[keys[index]!] === 0) continue;
          const target = next[keys[index]!]!++;
          entries[target] = at;
          scaled[target] = saturate(weights[index]!, norms[at]!);
        }
      }
      return { starts: sorted, entries, weights: scaled };
    },
  };
}

function copyInto<T extends Int32Array | Float32Array>(larger: T, smaller: T): T {
  larger.set(smaller);
  return larger;
}

// The BM25 term weight, without the rarity of the term.
function saturate(weight: number, norm: number): number {
  return (weight * (K1 + 1)) / (weight + norm);
}
