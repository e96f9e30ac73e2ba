// Scripts with headers of other programs, as they are in their repositories: argc (llm-functions) and Raycast.

import type { Format } from '../../core/format.js';
import { deferReader } from '../shared/deferred.js';

const FILE = /^[^.]+\.(?:sh|bash|py|rb|js|swift|applescript)$/;

/** Reads files such as `search.sh`, named without their extension (SCR-29). */
export function createForeignScriptFormat(): Format {
  return deferReader(
    { name: 'foreign-script', places: ['tools'], entries: 'files', claims: (name) => FILE.test(name) },
    () => true,
    async () => ({ read: (await import('./foreign-read.js')).readForeignScript }),
  );
}
