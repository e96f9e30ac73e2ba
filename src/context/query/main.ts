// The query program: reads a request and a document, evaluates one expression and prints the result.

import { readFileSync, writeSync } from 'node:fs';
import jsonata from 'jsonata';
import { parseWithPosition } from '../../core/json.js';
import { jsonType } from '../../core/schema.js';

interface QueryRequest {
  readonly expression: string;
  /** The file of the document; without it the document follows on stdin. */
  readonly file?: string;
}

/** An error that is reported to the parent process. */
class QueryError extends Error {
  readonly fault: Readonly<Record<string, unknown>>;
  constructor(kind: string, error: unknown) {
    super(kind);
    const { code, message, position } = error as { code?: unknown; message?: unknown; position?: unknown };
    this.fault = {
      kind,
      message: String(message ?? error),
      code: typeof code === 'string' ? code : undefined,
      position: typeof position === 'number' ? position : undefined,
    };
  }
}

function attempt<T>(kind: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof QueryError ? error : new QueryError(kindOf(error) ?? kind, error);
  }
}

// V8 throws a RangeError for stack overflows and oversized strings and arrays; the codes are JSONata's stack overflows.
function kindOf(error: unknown): string | undefined {
  const { code } = error as { code?: unknown };
  return error instanceof RangeError || code === 'U1001' || code === 'D1011' ? 'too_large' : undefined;
}

async function main(): Promise<void> {
  const stdin = readFileSync(0);
  const end = stdin.indexOf(0x0a);
  const { expression, file } = JSON.parse(stdin.toString('utf8', 0, end)) as QueryRequest;
  const query = attempt('syntax', () => jsonata(expression));
  const text = attempt('io', () => (file === undefined ? stdin.toString('utf8', end + 1) : readFileSync(file, 'utf8')));
  const document: unknown = attempt('not_json', () => parseWithPosition(text));
  let result: unknown;
  try {
    result = await query.evaluate(document);
  } catch (error) {
    throw new QueryError(kindOf(error) ?? 'evaluation', error);
  }
  if (isFunction(result)) throw new QueryError('evaluation', new Error('the result is a function; call it'));
  const json = attempt('too_large', () => toText(result));
  const count = Array.isArray(result) ? result.length : undefined;
  print(JSON.stringify({ type: json === undefined ? 'undefined' : jsonType(result), count }), json ?? '');
}

// Functions inside a result become empty strings, as in `$string`.
function toText(result: unknown): string | undefined {
  let text: string | undefined;
  try {
    text = JSON.stringify(result);
    if (text === undefined || !/"_jsonata_(?:lambda|function)":true/.test(text)) return text;
  } catch (error) {
    // A function refers to its environment, which refers to the function.
    if (!(error instanceof TypeError)) throw error;
  }
  return JSON.stringify(result, (_, value: unknown) => (isFunction(value) ? '' : value));
}

function isFunction(value: unknown): boolean {
  if (typeof value === 'function') return true;
  if (typeof value !== 'object' || value === null) return false;
  const { _jsonata_lambda: lambda, _jsonata_function: native } = value as Record<string, unknown>;
  return lambda === true || native === true;
}

function print(header: string, body: string): void {
  for (const text of [`${header}\n`, body]) {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
  }
}

main().catch((error: unknown) => {
  const { fault } = error instanceof QueryError ? error : new QueryError('evaluation', error);
  print(JSON.stringify({ fault }), '');
});
