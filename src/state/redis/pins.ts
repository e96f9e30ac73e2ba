// Pins of a fleet: what a person approved at one front counts at all of them.

import type { Json } from '../../core/json.js';
import { createPins, isPin, type Pin, type PinStore, type Pins } from '../../policy/pins.js';
import type { Mirror } from './mirror.js';

export function createSharedPins(mirror: Mirror): PinStore {
  // By source, because every call reads the pins of one.
  let sources = new Map<string, Map<string, Pin>>();
  let version = -1;
  const read = (source: string): Pins => {
    if (version !== mirror.version) {
      version = mirror.version;
      sources = groupBySource(mirror);
    }
    return sources.get(source) ?? new Map();
  };
  return createPins({
    read,
    async change(source, change) {
      for (const [key, pin] of change(read(source))) {
        const field = `${source} ${key}`;
        const known = mirror.get(field);
        if (isPin(known) && known.digest === pin.digest) continue;
        // The first definition that any front saw is the approved one (POL-21).
        mirror.set(field, pin as unknown as Json, { ifNew: known === undefined });
      }
    },
  });
}

function groupBySource(mirror: Mirror): Map<string, Map<string, Pin>> {
  const sources = new Map<string, Map<string, Pin>>();
  for (const [field, pin] of mirror.entries()) {
    if (!isPin(pin)) continue;
    const source = field.slice(0, field.indexOf(' '));
    const pins = sources.get(source) ?? new Map<string, Pin>();
    sources.set(source, pins.set(pin.key, pin));
  }
  return sources;
}
