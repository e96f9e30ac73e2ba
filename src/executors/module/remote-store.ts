// The document store for tools in the host: method calls as messages, bytes as base64.

import { ToolError } from '../../core/error.js';
import { isRecord, type Json } from '../../core/json.js';
import type { ContextStore, DocumentStore } from '../../core/store.js';

const METHODS = ['write', 'read', 'list', 'versions', 'remove', 'copy', 'search'] as const;
type Method = (typeof METHODS)[number];

/** Creates the store on the host's side; `ask` sends a method call and returns its result. */
export function createRemoteStore(ask: (method: Method, args: Json) => Promise<Json>): ContextStore {
  const remote =
    (method: Method) =>
    async (...args: unknown[]): Promise<unknown> =>
      decode(await ask(method, encode(args)));
  const methods = Object.fromEntries(METHODS.map((method) => [method, remote(method)]));
  const noop = { clean: async () => ({ files: 0, bytes: 0 }), close: () => {} };
  return {
    documents: { ...methods, ...noop } as unknown as DocumentStore,
    openResult(id) {
      throw new ToolError('unavailable', `the result ${id} is not available in a tool host`, {
        hint: 'call read_result through context.toolbox',
      });
    },
  };
}

/** Calls a method of the store for the host. Throws what the store throws. */
export async function answerStore(store: ContextStore | null, method: string, args: Json): Promise<Json> {
  if (store === null || !METHODS.includes(method as Method) || !Array.isArray(args)) {
    throw new ToolError('unavailable', 'there is no store here', { hint: 'call the tool through wield' });
  }
  const call = store.documents[method as Method] as (...given: unknown[]) => Promise<unknown>;
  return encode(await call(...(decode(args) as unknown[])));
}

function encode(value: unknown): Json {
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString('base64') };
  if (Array.isArray(value)) return value.map((entry) => (entry === undefined ? null : encode(entry)));
  if (!isRecord(value)) return (value ?? null) as Json;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, entry]) => (entry === undefined ? [] : [[key, encode(entry)]])),
  );
}

function decode(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decode);
  if (value === null) return undefined;
  if (!isRecord(value)) return value;
  if (typeof value.$bytes === 'string') return new Uint8Array(Buffer.from(value.$bytes, 'base64'));
  return Object.fromEntries(
    // Properties keep null, for example the size of a deletion.
    Object.entries(value).map(([key, entry]) => [key, entry === null ? null : decode(entry)]),
  );
}
