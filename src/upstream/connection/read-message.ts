// Reads messages of servers: without repeated keys, and no more of one than others can wait for (UPS-104).

import { countProperties, findDuplicateKey, isRecord, type Json, parseOutput } from '../../core/json.js';
import { findMembers, isLargeJson, MOST_READ_TEXT, measureJson } from '../../core/json-size.js';
import { quoteOutside } from '../../core/text.js';
import { ERROR } from '../../net/mcp.js';

const LISTS = ['tools', 'resources', 'resourceTemplates', 'prompts'];

/** Parses a message. One that is not read becomes an error for the request that it answers. Throws SyntaxError. */
export function readMessage(text: string): unknown {
  const size = measureJson(text);
  if (size === undefined) return readLarge(text);
  const message = JSON.parse(text) as Json;
  if (countProperties(message) === size.properties) return message;
  const repeated = findDuplicateKey(text)!.key;
  const id = isRecord(message) ? message.id : undefined;
  return refused(id, `it has the key "${quoteOutside(repeated, 60)}" twice in one object`);
}

// The result of a tool with large structured content is that content as text, which can be stored without being read.
function readLarge(text: string): unknown {
  const message = findMembers(text, text.indexOf('{'));
  const partOf = (members: ReturnType<typeof findMembers>, name: string): Json | undefined => {
    const [from, to] = members.get(name) ?? [0, 0];
    return parseOutput(text.slice(from, to));
  };
  const id = partOf(message, 'id');
  const [start, end] = message.get('result') ?? [0, 0];
  const result = findMembers(text.slice(0, end), text.indexOf('{', start));
  // Listings have limits of their own (UPS-4).
  if (LISTS.some((name) => result.has(name)) && !result.has('content')) return JSON.parse(text);
  const [from, to] = result.get('structuredContent') ?? [0, 0];
  const rest = [...result.keys()].filter((name) => name !== 'structuredContent' && name !== '__proto__');
  const read = rest.map((name) => [name, partOf(result, name)] as const);
  if (start === end || from === to || read.some(([, value]) => value === undefined))
    return refused(id, `it has more than ${MOST_READ_TEXT}`);
  const fields = Object.fromEntries(read);
  const hasContent = Array.isArray(fields.content) && fields.content.length > 0;
  const content = hasContent ? fields.content : [{ type: 'text', text: text.slice(from, to).trim() }];
  return { jsonrpc: '2.0', id, result: { ...fields, content } };
}

/** In `data` of an error that takes the place of an answer. */
export const UNREAD = 'wield/unread';

// Without an id it belongs to no request, and is dropped.
function refused(id: unknown, why: string): unknown {
  const error = { code: ERROR.invalidRequest, message: `the answer is not read: ${why}`, data: UNREAD };
  return { jsonrpc: '2.0', id: id ?? null, error };
}

// The ids of our requests.
const ID = String.raw`"id"\s*:\s*"(w\d+)"\s*`;
const VERSION = String.raw`"jsonrpc"\s*:\s*"2\.0"\s*`;
const ID_AT_START = new RegExp(String.raw`^\s*\{\s*(?:${VERSION},\s*)?${ID},`);
const ID_AT_END = new RegExp(String.raw`,\s*(?:${VERSION},\s*)?${ID}(?:,\s*${VERSION})?\}\s*$`);

/** The error for an answer that is too long to keep, by its first and last characters; undefined if it has no id there. */
export function refuseLong(head: string, tail: string, limit: string): unknown {
  const [, id] = ID_AT_START.exec(head) ?? ID_AT_END.exec(tail) ?? [];
  return id === undefined ? undefined : refused(id, `it is a message of more than ${limit}`);
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** Applies `readMessage` to the responses of a server, which the SDK parses. */
export function withReadMessages(fetch: Fetch): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    const type = response.headers.get('content-type') ?? '';
    if (!response.ok || response.body === null) return response;
    if (/^application\/json\b/i.test(type)) return withBody(response, toReadText(await response.text()));
    if (/^text\/event-stream\b/i.test(type)) return withBody(response, toReadEvents(response.body));
    return response;
  };
}

function withBody({ status, statusText, headers }: Response, body: string | ReadableStream<Uint8Array>): Response {
  const kept = new Headers(headers);
  kept.delete('content-length');
  return new Response(body, { status, statusText, headers: kept });
}

// Text that is not JSON is left to the SDK.
function toReadText(text: string): string {
  try {
    const isLarge = isLargeJson(text);
    const message = readMessage(text);
    return isLarge || (isRecord(message) && isRecord(message.error)) ? JSON.stringify(message) : text;
  } catch {
    return text;
  }
}

// Passes each event on when it has ended.
function toReadEvents(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const split = createEventSplitter();
  const encoder = new TextEncoder();
  const read = ({ others, data }: StreamEvent): string => {
    const shown = data === undefined ? [] : toReadText(data).split('\n');
    return `${[...others, ...shown.map((line) => `data: ${line}`)].join('\n')}\n\n`;
  };
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const events = split(chunk).map(read).join('');
        if (events !== '') controller.enqueue(encoder.encode(events));
      },
    }),
  );
}

/** An event when it has ended; data in several lines is one text. */
export interface StreamEvent {
  /** Its other lines: `event:`, `id:`, `retry:` and comments. */
  readonly others: readonly string[];
  readonly data: string | undefined;
}

/** Returns a function that takes the next bytes and returns the events that they end. */
export function createEventSplitter(): (chunk: Uint8Array) => readonly StreamEvent[] {
  const decoder = new TextDecoder();
  let lines: string[] = [];
  let line = '';
  let afterReturn = false;
  return (chunk) => {
    const decoded = decoder.decode(chunk, { stream: true });
    const events: StreamEvent[] = [];
    const text = afterReturn && decoded.startsWith('\n') ? decoded.slice(1) : decoded;
    afterReturn = text.endsWith('\r');
    const [first = '', ...more] = text.split(/\r\n|\n|\r/);
    line += first;
    for (const next of more) {
      if (line !== '') lines.push(line);
      else if (lines.length > 0) {
        events.push(toEvent(lines));
        lines = [];
      }
      line = next;
    }
    return events;
  };
}

function toEvent(lines: readonly string[]): StreamEvent {
  const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(line[5] === ' ' ? 6 : 5));
  const others = lines.filter((line) => !line.startsWith('data:'));
  return { others, data: data.length === 0 ? undefined : data.join('\n') };
}
