// The OpenAPI format: each operation of a document is a tool that sends one HTTP request.

import { join } from 'node:path';
import type { Format, FormatSnapshot, Place, Reading } from '../../core/format.js';

const FILE = /^[^.].*\.openapi\.(?:json|ya?ml)$/i;
const ANY_FILE = /^[^.].*\.(?:json|ya?ml)$/i;

/** Whether a file name is that of an OpenAPI document. */
export function isOpenApiFile(name: string): boolean {
  return FILE.test(name);
}

/** Reads OpenAPI documents (OAS-1). The reader is loaded when there is one. */
export function createOpenApiFormat(): Format {
  let reader: ReturnType<typeof import('./read.js').createReader> | undefined;
  const pending = new Map<string, true>();
  return {
    name: 'openapi',
    places: ['tools', 'documents'],
    entries: 'files',
    claims: (name) => ANY_FILE.test(name),
    read(entry: string, place: Place, snapshot?: FormatSnapshot): Reading | undefined {
      if (place.kind !== 'documents' && place.named !== true && !FILE.test(entry)) return undefined;
      const file = join(place.directory, entry);
      if (reader === undefined) {
        pending.set(file, true);
        return { tools: [], problems: [], states: [undefined], pending: true };
      }
      return reader(entry, place, snapshot);
    },
    pending,
    async settle() {
      const { createReader } = await import('./read.js');
      reader ??= createReader(isOpenApiFile);
      pending.clear();
    },
  };
}
