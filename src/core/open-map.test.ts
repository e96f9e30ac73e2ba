// Tests of the map of what is open.

import { expect, test } from 'vitest';
import { OpenMap } from './open-map.js';

type Id = number | string;

test('finds, replaces and deletes like a Map', () => {
  const [own, map] = [new OpenMap<Id, number>(), new Map<Id, number>()];
  const ids: Id[] = [1, '1', 2, 'a', 3];
  // Two sets for each deletion, in changing order.
  for (let step = 0; step < 200; step++) {
    const id = ids[(step * 7) % ids.length]!;
    if (step % 3 === 2) expect(own.delete(id)).toBe(map.delete(id));
    else {
      own.set(id, step);
      map.set(id, step);
    }
    expect(own.size).toBe(map.size);
    for (const each of ids) expect([own.has(each), own.get(each)]).toEqual([map.has(each), map.get(each)]);
    expect(own.values().toSorted()).toEqual([...map.values()].toSorted());
  }
});
