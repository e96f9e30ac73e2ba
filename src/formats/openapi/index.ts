// The OpenAPI format: each operation of a document is a tool that sends one HTTP request.

import type { Format } from '../../core/format.js';
import { deferReader } from '../shared/deferred.js';
import type { KeptOptions } from './kept.js';

const FILE = /^[^.].*\.openapi\.(?:json|ya?ml)$/i;
const ANY_FILE = /^[^.].*\.(?:json|ya?ml)$/i;

/** Whether a file of a tools directory is a document. */
export function isDocument(name: string): boolean {
  return FILE.test(name);
}

/** Reads OpenAPI documents (OAS-1); large ones are kept if there is a cache. */
export function createOpenApiFormat(cache?: KeptOptions): Format {
  return deferReader(
    { name: 'openapi', places: ['tools', 'documents'], entries: 'files', claims: (name) => ANY_FILE.test(name) },
    (entry, place) => place.kind === 'documents' || place.named === true || isDocument(entry),
    async (pending) => {
      const [{ createReader }, { createKeptDocuments }] = await Promise.all([import('./read.js'), import('./kept.js')]);
      return createReader(isDocument, pending, cache && createKeptDocuments(cache));
    },
  );
}
