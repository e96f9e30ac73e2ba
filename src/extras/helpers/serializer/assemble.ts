// Assembles the serializer. Each part refers only to its parameters, so that its source text works elsewhere (HLP-4).

import { createBudgets } from './budget.js';
import { createCopier, writeJson } from './copy.js';
import { createFrames } from './frames.js';
import { createKinds } from './kinds.js';
import { createOpeners } from './open.js';
import { createMarkerReaders, createReviver } from './revive.js';

export const PARTS = {
  createKinds,
  createFrames,
  createOpeners,
  createBudgets,
  createCopier,
  createMarkerReaders,
  createReviver,
  writeJson,
};

export function assemble(parts: typeof PARTS) {
  const kinds = parts.createKinds();
  const frames = parts.createFrames(kinds);
  const openers = parts.createOpeners(kinds, frames);
  return {
    copy: parts.createCopier(kinds, openers, parts.createBudgets(kinds)),
    deserialize: parts.createReviver(kinds, frames, parts.createMarkerReaders(frames)),
    write: parts.writeJson,
  };
}
