// The program of a query: reads a question and a document, evaluates one expression, prints the answer and ends.

import { readFileSync, writeSync } from 'node:fs';
import jsonata from 'jsonata';

interface Question {
  readonly expression: string;
  /** Where the document lies; left out: it follows on standard input. */
  readonly file?: string;
}

/** What is wrong, for the process that asked. */
class Fault extends Error {
  readonly fault: Readonly<Record<string, unknown>>;
  constructor(kind: string, error: unknown) {
    super(kind);
    const { code, message, position } = error as { code?: unknown; message?: unknown; position?: unknown };
    this.fault = {
      kind,
      message: String(message ?? error),
      ...(typeof code === 'string' ? { code } : {}),
      ...(typeof position === 'number' ? { position } : {}),
    };
  }
}

function attempt<T>(kind: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof Fault ? error : new Fault(kindOf(error) ?? kind, error);
  }
}

// What the engine says where there is too much of something.
function kindOf(error: unknown): string | undefined {
  if (error instanceof RangeError) return /call stack/i.test(error.message) ? 'too_deep' : 'too_large';
  const { code } = error as { code?: unknown };
  return code === 'U1001' || code === 'D1011' ? 'too_deep' : undefined;
}

async function main(): Promise<void> {
  const given = readFileSync(0);
  const end = given.indexOf(0x0a);
  const { expression, file } = JSON.parse(given.toString('utf8', 0, end)) as Question;
  const query = attempt('syntax', () => jsonata(expression));
  const text = attempt('io', () =>
    file === undefined ? given.toString('utf8', end + 1) : readFileSync(file, 'utf8'),
  );
  const document: unknown = attempt('not_json', () => JSON.parse(text));
  let result: unknown;
  try {
    result = await query.evaluate(document);
  } catch (error) {
    throw new Fault(kindOf(error) ?? 'evaluation', error);
  }
  if (isFunction(result)) throw new Fault('evaluation', new Error('the result is a function; call it'));
  const json = attempt('too_large', () => toText(result));
  const count = Array.isArray(result) ? { count: result.length } : {};
  print(JSON.stringify({ type: json === undefined ? 'undefined' : typeOf(result), ...count }), json ?? '');
}

// Functions within a result are empty texts, as they are to `$string`; few results have any.
function toText(result: unknown): string | undefined {
  let text: string | undefined;
  try {
    text = JSON.stringify(result);
    if (text === undefined || !/"_jsonata_(?:lambda|function)":true/.test(text)) return text;
  } catch (error) {
    // A function holds what surrounds it, and that holds the function.
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

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function print(header: string, body: string): void {
  for (const text of [`${header}\n`, body]) {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
  }
}

main().catch((error: unknown) => {
  const { fault } = error instanceof Fault ? error : new Fault('evaluation', error);
  print(JSON.stringify({ fault }), '');
});
