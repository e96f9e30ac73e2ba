// The OpenAPI format: each operation of a document is a tool that sends one HTTP request.

import type { Format } from '../../core/format.js';
import { deferReader } from '../shared/deferred.js';

const FILE = /^[^.].*\.openapi\.(?:json|ya?ml)$/i;
const ANY_FILE = /^[^.].*\.(?:json|ya?ml)$/i;

/** Reads OpenAPI documents (OAS-1). */
export function createOpenApiFormat(): Format {
  const isDocument = (name: string): boolean => FILE.test(name);
  return deferReader(
    { name: 'openapi', places: ['tools', 'documents'], entries: 'files', claims: (name) => ANY_FILE.test(name) },
    (entry, place) => place.kind === 'documents' || place.named === true || isDocument(entry),
    async (pending) => (await import('./read.js')).createReader(isDocument, pending),
  );
}
