// Remembers which server entries came from a registry: by what they run, so that a changed entry is no longer one of them.

import { join } from 'node:path';
import { orNothing } from '../../core/error.js';
import { canonicalJson, type JsonObject } from '../../core/json.js';
import { object, readShape, record, string } from '../../core/shape.js';
import type { ServerEntry } from '../../core/upstream.js';
import { changeFile } from '../../files/change.js';
import { digestParts } from '../../files/digest.js';
import { createStatCache, type FileText } from '../../files/read.js';
import { parseStateJson, refuseNewer } from '../../files/state.js';
import { REGISTRY } from './read.js';

export type RegistryOrigins = ReturnType<typeof createRegistryOrigins>;

const FILE = object({ servers: record(string) }, { unknown: 'drop' });

export function createRegistryOrigins(wieldHome: string, now: () => number) {
  const file = join(wieldHome, 'registry.json');
  const cache = createStatCache<Readonly<Record<string, string>>>({ now, isState: () => true });
  return {
    /** Returns the name in the official registry; of another one, its address and the name. */
    of(entry: ServerEntry): string | undefined {
      // One that a newer version wrote names nothing here.
      const names = cache.get('names', [file], ([text]) => orNothing(() => readNames(text, file)) ?? {});
      const key = digestOf(entry.kind === 'http' ? { url: entry.url } : { command: entry.command, args: entry.args });
      return Object.hasOwn(names, key) ? names[key] : undefined;
    },
    /** Remembers the entry that a registry gave for a name. */
    add: ({ url, command, args = [] }: JsonObject, origin: string): Promise<void> =>
      changeFile(file, { doing: 'recording a server of a registry' }, (text) => {
        const key = digestOf(url === undefined ? { command: command!, args } : { url });
        return `${JSON.stringify({ version: 1, servers: { ...readNames(text, file), [key]: origin } }, null, 2)}\n`;
      }),
  };
}

/** Formats where a server was found: its name in the official registry; else after the address of the registry. */
export function toOrigin(name: string, registry: string): string {
  const base = registry.replace(/\/+$/, '');
  return base === REGISTRY ? name : `${URL.canParse(base) ? new URL(base).href.replace(/\/+$/, '') : base}/${name}`;
}

function digestOf(identity: JsonObject): string {
  return digestParts([canonicalJson(identity)]).slice(0, 32);
}

// A damaged file names nothing: then its servers are added again.
function readNames(text: FileText, file: string): Readonly<Record<string, string>> {
  if (typeof text !== 'string') return {};
  const document = orNothing(() => parseStateJson(text, file));
  refuseNewer(document, file);
  return readShape(FILE, document).value?.servers ?? {};
}
