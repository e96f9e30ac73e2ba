// Converts a ToolResult to the protocol's CallToolResult, and a non-object output to the form of the older version.

import type { ErrorValue } from '../core/error.js';
import { formatError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import { isFailedOutput, NO_OUTPUT, type Part, type ToolResult, textPart } from '../core/result.js';
import { words } from '../core/text.js';
import { ERROR, RpcError } from '../net/mcp.js';
import type { Params } from './message.js';

export interface CallResult {
  readonly content: readonly Part[];
  readonly structuredContent?: unknown;
  readonly isError?: true;
  readonly _meta?: Params | undefined;
}

/**
 * `withStructured` decides whether structured content is sent beside the text, which usually contains the same JSON.
 * What a failed tool returned besides its message is in `_meta` otherwise (MOD-13).
 */
export function toCallResult(result: ToolResult, withStructured: boolean): CallResult {
  const isOfServer = result.meta.remote !== undefined;
  // A tool that returned nothing has an empty text, and model APIs reject empty texts.
  const content = result.content.filter((part) =>
    isOfServer ? part !== NO_OUTPUT : part.type !== 'text' || part.text !== '',
  );
  const { error, structured } = result;
  const structuredContent = withStructured ? structured : undefined;
  if (error === undefined) return { content, structuredContent, _meta: toMeta(result) };
  return {
    // UPS-107: what a server says about a failure is not changed.
    content: isOfServer && error.code === 'tool_failed' ? content : withError(error, content),
    structuredContent,
    isError: true,
    _meta: {
      ...toMeta(result),
      'wield/error': error,
      'wield/structured': !withStructured && isFailedOutput(structured) ? structured : undefined,
    },
  };
}

function withError(error: ErrorValue, content: readonly Part[]): readonly Part[] {
  const text = formatError(error);
  // The message of a failed tool may quote its output, which is not sent twice.
  const isQuoted = (part: Part): boolean => part.type === 'text' && text.includes(part.text.trim());
  return [textPart(text), ...content.filter((part) => !isQuoted(part))];
}

/** Returns what `_meta` says about a result. */
export function toMeta({ meta }: Pick<ToolResult, 'meta'>): Params | undefined {
  const { remote = {}, repaired, truncated, labels } = meta;
  const isPlain = repaired === undefined && truncated === undefined && labels === undefined;
  if (isPlain && Object.keys(remote).length === 0) return undefined;
  return {
    ...remote,
    ...(repaired === undefined ? {} : { 'wield/repaired': repaired }),
    ...(truncated === undefined ? {} : { 'wield/truncated': meta.truncation ?? true }),
    ...(labels === undefined ? {} : { 'wield/labels': labels }),
  };
}

/**
 * Adds a text for a scalar or array, which not every client shows. The older version allows only objects: the output is
 * wrapped as `{ result }`, like its schema in the listing.
 */
export function projectResult(
  result: CallResult,
  isNewer: boolean,
  outputSchema: { readonly [keyword: string]: unknown } | undefined,
): CallResult {
  if (isNewer && result.isError) rejectMissingCapability(result._meta?.['wield/error']);
  const { structuredContent } = result;
  if (structuredContent === undefined) return result;
  const isObject = isRecord(structuredContent);
  const hasText = result.content.some((part) => part.type === 'text');
  const content =
    isObject || hasText ? result.content : [...result.content, textPart(JSON.stringify(structuredContent))];
  const isWrapped = !isNewer && (!isObject || isNonObject(outputSchema));
  return { ...result, content, structuredContent: isWrapped ? { result: structuredContent } : structuredContent };
}

type Schema = { readonly [keyword: string]: unknown };

function isNonObject(schema: Schema | undefined): boolean {
  return schema !== undefined && schema.type !== 'object';
}

// Keywords whose values are data, and those whose values map names to schemas.
const DATA = new Set(['const', 'enum', 'default', 'examples']);
const NAME_MAPS = new Set(words('properties patternProperties $defs definitions dependentSchemas dependencies'));

/** Returns the output schema as the older version lists it: the root is an object, and references follow. */
export function projectOutputSchema(schema: Schema): Schema {
  if (!isNonObject(schema)) return schema;
  const result = hasOwnBase(schema) ? schema : moveReferences(schema, false);
  return { type: 'object', properties: { result }, required: ['result'] };
}

function moveReferences(node: unknown, isNameMap: boolean): unknown {
  if (Array.isArray(node)) return node.map((item) => moveReferences(item, false));
  if (!isRecord(node) || (!isNameMap && hasOwnBase(node))) return node;
  const moved: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(node)) {
    if (isNameMap) moved[key] = moveReferences(value, false);
    else if ((key === '$ref' || key === '$dynamicRef') && typeof value === 'string')
      moved[key] = value === '#' || value.startsWith('#/') ? `#/properties/result${value.slice(1)}` : value;
    else moved[key] = DATA.has(key) ? value : moveReferences(value, NAME_MAPS.has(key));
  }
  return moved;
}

// References inside a schema with its own base URI do not refer to the root.
function hasOwnBase({ $id }: Schema): boolean {
  return $id !== undefined && !(typeof $id === 'string' && $id.startsWith('#'));
}

// SRV-82: in the newer version, a capability that the client lacks is a protocol error.
function rejectMissingCapability(error: unknown): void {
  const { data, message } = error as ErrorValue;
  if (!isRecord(data?.requiredCapabilities)) return;
  throw new RpcError(ERROR.missingCapability, message, { ...data, 'wield/error': error });
}
