// The digest of a tool definition as the server sent it (POL-21).

import { canonicalJson, type Json } from '../../core/json.js';
import type { RemoteTool } from '../../core/upstream.js';
import { digestParts } from '../../files/digest.js';

const digests = new WeakMap<RemoteTool, string>();

export function digestDefinition(tool: RemoteTool): string {
  let digest = digests.get(tool);
  if (digest === undefined) {
    digest = digestParts([canonicalJson(tool as unknown as Json)]);
    digests.set(tool, digest);
  }
  return digest;
}
