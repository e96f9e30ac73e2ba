// Tests of the map of open requests.

import { expect, test } from 'vitest';
import type { RequestId } from './message.js';
import { RequestMap } from './request-map.js';

test('finds, replaces and deletes like a Map', () => {
  const [own, map] = [new RequestMap<number>(), new Map<RequestId, number>()];
  const ids: RequestId[] = [1, '1', 2, 'a', 3];
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
