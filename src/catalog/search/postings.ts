// Postings of a search index: weighted counts entry by entry, then sorted so that each key has its entries in a row.

/** How soon repetition stops counting, and how much a long text is held against it. */
export const K1 = 1.2;
export const B = 0.75;

/** Weighted counts of keys, entry by entry. */
export interface Counts {
  begin(entry: number): void;
  add(key: number, weight: number): void;
  sort(held: Float64Array, isKept?: (key: number) => boolean): Postings;
}

/** Which entries have a key, and how much it says of each. */
export interface Postings {
  /** Where each key begins in `places` and `weights`. */
  readonly starts: Int32Array;
  readonly places: Int32Array;
  readonly weights: Float32Array;
}

export function createCounts(entries: number): Counts {
  const starts = new Int32Array(entries + 1);
  let keys = new Int32Array(1 << 12);
  let weights = new Float32Array(1 << 12);
  // Where each key was counted last: within the same entry it is counted there again.
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
    sort(held, isKept = () => true) {
      starts[entries] = size;
      const kept = Uint8Array.from({ length: largest + 1 }, (_, key) => Number(isKept(key)));
      const sorted = new Int32Array(largest + 2);
      for (let index = 0; index < size; index++) sorted[keys[index]! + 1]! += kept[keys[index]!]!;
      for (let key = 0; key <= largest; key++) sorted[key + 1]! += sorted[key]!;
      const next = sorted.slice();
      const places = new Int32Array(sorted[largest + 1]!);
      const said = new Float32Array(places.length);
      for (let at = 0; at < entries; at++) {
        const end = starts[at + 1]!;
        for (let index = starts[at]!; index < end; index++) {
          if (kept[keys[index]!] === 0) continue;
          const target = next[keys[index]!]!++;
          places[target] = at;
          said[target] = saturate(weights[index]!, held[at]!);
        }
      }
      return { starts: sorted, places, weights: said };
    },
  };
}

function copyInto<T extends Int32Array | Float32Array>(larger: T, smaller: T): T {
  larger.set(smaller);
  return larger;
}

// How much a weighted count says of an entry, whose length is held against it.
function saturate(weight: number, held: number): number {
  return (weight * (K1 + 1)) / (weight + held);
}
