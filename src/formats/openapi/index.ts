// The OpenAPI format: each operation of a document is a tool that sends one HTTP request.

import type { Format } from '../../core/format.js';
import { deferReader } from '../shared/deferred.js';

const FILE = /^[^.].*\.openapi\.(?:json|ya?ml)$/i;
const ANY_FILE = /^[^.].*\.(?:json|ya?ml)$/i;

/** Whether a file of a tools directory is a document. */
export function isDocument(name: string): boolean {
  return FILE.test(name);
}

/** Reads OpenAPI documents (OAS-1). */
export function createOpenApiFormat(): Format {
  return deferReader(
    { name: 'openapi', places: ['tools', 'documents'], entries: 'files', claims: (name) => ANY_FILE.test(name) },
    (entry, place) => place.kind === 'documents' || place.named === true || isDocument(entry),
    async (pending) => (await import('./read.js')).createReader(isDocument, pending),
  );
}
