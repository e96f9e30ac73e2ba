// How each door of wield obtains consent.

import type { Approve, ConsentWay } from './approval.js';

// Not a property: a function that code passes is an answer of code, whatever it says about itself (OBS-1).
const ways = new WeakMap<Approve, ConsentWay>();

/** Records how a function of a door obtains consent. */
export function approveBy(way: ConsentWay, approve: Approve): Approve {
  ways.set(approve, way);
  return approve;
}

/** Returns how a function obtains consent; `code` if no door of wield made it. */
export function wayOf(approve: Approve): ConsentWay {
  return ways.get(approve) ?? 'code';
}
