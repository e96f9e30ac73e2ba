// The output schema of an operation, and what it accepts.

import { isRecord } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { inspectSchema } from '../../schema/inspect.js';
import type { Located, OpenDocument } from './document.js';
import { chooseMedia } from './input.js';
import type { SchemaWriter } from './schema.js';

/** Returns the schema of the response of a success, if that is an object. */
export function toOutput(
  { node, file }: Located,
  document: OpenDocument,
  writer: SchemaWriter,
): { readonly schema?: JsonSchema; readonly accept: string } {
  const responses = isRecord(node.responses) ? node.responses : {};
  const status = Object.keys(responses).find((one) => /^2(?:\d\d|XX)$/i.test(one)) ?? 'default';
  const given = responses[status];
  if (!isRecord(given)) return { accept: ANYTHING };
  const response = document.follow({ node: given, file });
  const [type, media] = chooseMedia(response.node.content) ?? [];
  const accept = type === undefined || type === '*/*' ? ANYTHING : `${type.split(';')[0]}, */*;q=0.5`;
  if (media === undefined || !/json\b/i.test(type!) || !isRecord(media.schema) || status === 'default')
    return { accept };
  const schema: Located = { node: media.schema, file: response.file };
  const target = document.follow(schema).node;
  if (target.type !== 'object' && !isRecord(target.properties)) return { accept };
  try {
    const { schema: defined, left } = writer.define({ type: 'object', ...unwrap(writer.convert(schema)) });
    if (left > 0) return { accept };
    inspectSchema(defined, { foreign: true });
    return { accept, schema: defined };
  } catch {
    // A call needs no output schema, so one that is invalid does not keep the operation out.
    return { accept };
  }
}

const ANYTHING = 'application/json, */*;q=0.5';

// The whole response is never null.
function unwrap(schema: JsonSchema): JsonSchema {
  if (Array.isArray(schema.anyOf) && isRecord(schema.anyOf[0])) return { allOf: [schema.anyOf[0]] } as typeof schema;
  return { ...schema, type: 'object' };
}
