// Calls operations of OpenAPI documents with random input, and checks what is sent.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { HttpAction } from '../../src/core/http.js';
import type { Json } from '../../src/core/json.js';
import type { Tool } from '../../src/core/tool.js';
import type { Toolbox } from '../../src/core/toolbox.js';
import { createMock, type Received, type Sent } from './openapi-mock.js';
import { createRandom, randomValue } from './schema-samples.js';

type Node = Readonly<Record<string, unknown>>;

export interface CalledDocument {
  readonly operations: number;
  readonly calls: number;
  /** Schemas that the validator of the server cannot compile. */
  readonly unchecked: number;
  /** What was sent against the document, by operation. */
  readonly faults: readonly string[];
  /** Operations without a call, and why. */
  readonly untried: readonly string[];
}

export interface CallOptions {
  /** Calls of each operation. */
  readonly calls: number;
  readonly seed: number;
  readonly isChosen?: (at: number) => boolean;
}

/** Starts a server that keeps what it was sent last. */
export async function startRecorder() {
  let last: Sent | undefined;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      last = { method, url: url.slice('/base'.length), headers, body: Buffer.concat(chunks) };
      response.writeHead(200, { 'content-type': 'text/plain' }).end('ok');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/base`,
    take: (): Sent | undefined => {
      const taken = last;
      last = undefined;
      return taken;
    },
    close: (): void => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Calls the operations of one document; its server must be the recorder's. */
export async function callOperations(
  toolbox: Toolbox,
  document: Node,
  take: () => Sent | undefined,
  { calls, seed, isChosen = () => true }: CallOptions,
): Promise<CalledDocument> {
  const mock = createMock(document);
  const tools = (await toolbox.list()).filter(({ action }) => action.kind === 'http');
  const faults: string[] = [];
  const untried: string[] = [];
  let count = 0;
  let unchecked = 0;
  for (const [at, tool] of tools.entries()) {
    if (!isChosen(at)) continue;
    const action = tool.action as HttpAction;
    const random = createRandom(seed + at);
    let made = 0;
    let reason = '';
    for (let attempt = 0; attempt < calls * 8 && made < calls; attempt++) {
      const input = randomValue(tool.input.json, random, attempt % 4 === 0) as Record<string, Json>;
      const { error } = await toolbox.call(tool.name, input);
      const sent = take();
      if (sent === undefined) {
        reason = `${error?.code}: ${error?.message.slice(0, 200)}`;
        if (error?.code !== 'invalid_input') break;
        continue;
      }
      made++;
      const received = mock.check(sent, action.method, action.path);
      unchecked += received.unchecked;
      const found = [...received.faults, ...compare(tool, input, received)];
      faults.push(...found.map((fault) => `${action.method} ${action.path}: ${fault}`));
    }
    count += made;
    if (made === 0) untried.push(`${tool.name}: ${reason}`);
  }
  return { operations: tools.length, calls: count, unchecked, faults: [...new Set(faults)], untried };
}

// What arrived is what was given, apart from types that text has not.
function compare({ action }: Tool, input: Readonly<Record<string, Json>>, { parameters, body }: Received): string[] {
  const { parameters: declared, body: form } = action as HttpAction;
  const faults: string[] = [];
  const expectSame = (what: string, given: unknown, arrived: unknown): void => {
    if (!isDeepStrictEqual(toText(given), toText(arrived)))
      faults.push(`${what}: given ${show(given)}, arrived ${show(arrived)}`);
  };
  for (const { property, name, in: place } of declared) {
    if (isOpenValue(input[property])) continue;
    expectSame(`${place} ${name}`, input[property], parameters.get(`${place} ${name}`));
  }
  if (form === undefined || form.kind === 'binary') return faults;
  if (form.property !== undefined) {
    expectSame('body', input[form.property], body);
    return faults;
  }
  for (const { name, property } of form.fields)
    expectSame(`body ${name}`, input[property], (body as Node | undefined)?.[name]);
  return faults;
}

// The fields of an object are parameters of their own, and an empty list or object is none.
function isOpenValue(value: Json | undefined): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function toText(value: unknown): unknown {
  if (Array.isArray(value)) {
    const all = value.map(toText).filter((one) => one !== undefined);
    // One value is sent like a list of it.
    return all.length > 1 ? all : all[0];
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).flatMap(([name, one]) => {
      const text = toText(one);
      return text === undefined ? [] : [[name, text] as const];
    });
    return entries.length === 0 ? undefined : Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  }
  return value === null || value === undefined ? undefined : String(value);
}

function show(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 160) ?? 'nothing';
}
