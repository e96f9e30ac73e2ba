// OpenAPI documents: names, input, requests, responses, configuration, and what a document must not reach.

import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { seal } from '../../../src/files/cache.js';
import { type ToolResult, textOf } from '../../../src/index.js';
import { binary } from '../../support/built.js';
import { readCacheFile } from '../../support/cache-file.js';
import { json, wield } from '../../support/cli.js';
import { type LocalServer, listen } from '../../support/http.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

interface Echo {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Starts a server that answers with what it was sent; `/status/N` has the status N. */
async function startEcho(): Promise<LocalServer> {
  return listen((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => answer(request, Buffer.concat(chunks).toString('latin1'), response));
  });
}

function answer(
  { method, url = '', headers }: IncomingMessage,
  body: string,
  response: Parameters<Parameters<typeof listen>[0]>[1],
) {
  const [, status] = /\/status\/(\d+)/.exec(url) ?? [];
  if (status !== undefined) response.statusCode = Number(status);
  if (url.includes('/picture')) {
    response.setHeader('content-type', 'image/png');
    response.end(Buffer.from('89504e47', 'hex'));
  } else if (url.includes('/large')) {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ rows: Array.from({ length: 5000 }, (_, id) => ({ id })) }));
  } else {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ method, url, headers, body }));
  }
}

type Paths = Readonly<Record<string, unknown>>;

function document(origin: string, paths: Paths, more: Readonly<Record<string, unknown>> = {}): string {
  const info = { title: 'T', version: '1' };
  return JSON.stringify({ openapi: '3.1.0', info, servers: [{ url: `${origin}/v1` }], paths, ...more });
}

function put(workspace: Workspace, text: string, name = 'api.openapi.json'): string {
  return workspace.write(`.agents/tools/${name}`, text);
}

const get = (parameters: readonly unknown[], more = {}) => ({
  get: { operationId: 'op', parameters, responses: {}, ...more },
});
const echoOf = (result: ToolResult): Echo => {
  expect(result.error).toBeUndefined();
  return JSON.parse(textOf(result)) as Echo;
};

describe('names', () => {
  spec('OAS-1', 'come from the id in snake_case or the path, and are prefixed where they clash', async () => {
    const workspace = createWorkspace();
    const server = { servers: [{ url: 'https://api.example.com' }] };
    const operations = {
      '/a': { get: { operationId: 'findPetsByStatus' }, post: {} },
      '/b/{id}': {
        get: { operationId: 'repos/list-forOrg', parameters: [{ name: 'id', in: 'path' }] },
        delete: { operationId: 'HTTPServerGet', parameters: [{ name: 'id', in: 'path' }] },
      },
      '/c': { get: { operationId: 'hello' }, head: { operationId: 'findPetsByStatus' } },
    };
    put(workspace, document('', operations, server), 'pets.openapi.json');
    put(workspace, document('', { '/a': { get: { operationId: 'hello' } } }, server), 'shop.openapi.json');
    workspace.script('hello', '#!/bin/sh\n# @description D\necho hi\n');
    const { tools } = json(await wield(workspace, ['list', '--json']));
    expect(tools.map(({ name }: { name: string }) => name).sort()).toEqual(
      [
        'find_pets_by_status',
        'hello',
        'http_server_get',
        'pets_find_pets_by_status',
        'pets_hello',
        'post_a',
        'repos_list_for_org',
        'shop_hello',
      ].sort(),
    );
  });

  spec('OAS-1', 'of broken documents and operations are reported, and the others stay', async () => {
    const workspace = createWorkspace();
    put(workspace, '{ "openapi": "3.0.0",\n "paths": { ]', 'broken.openapi.json');
    put(workspace, 'openapi: 9.9\npaths: {}\n', 'strange.openapi.yaml');
    put(workspace, 'openapi: 3.0.0\npaths:\n  /a: [\n', 'cut.openapi.yml');
    put(workspace, document('', { '/a': get([]) }), 'relative.openapi.json');
    const good = { '/x/{id}': get([]), '/y': { get: { operationId: 'fine', responses: {} } } };
    put(workspace, document('https://api.example.com', good), 'half.openapi.json');
    const { tools } = json(await wield(workspace, ['list', '--json']));
    expect(tools.map(({ name }: { name: string }) => name)).toEqual(['fine', 'relative_op']);
    expect((await workspace.toolbox().call('relative_op', {})).error).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('no server'),
    });
    const problems = await workspace.toolbox().catalog.problems();
    const of = (name: string) => problems.find(({ path }) => path.endsWith(name));
    expect(of('broken.openapi.json')).toMatchObject({ line: 2, message: expect.stringContaining('is not valid JSON') });
    expect(of('strange.openapi.yaml')?.message).toContain('is not an OpenAPI document');
    expect(of('cut.openapi.yml')).toMatchObject({ line: expect.any(Number), message: expect.stringContaining('YAML') });
    expect(of('relative.openapi.json')?.message).toContain('1 operation cannot be called: no absolute server');
    expect(of('half.openapi.json')?.message).toContain('GET /x/{id} is left out: has no parameter for {id}');
    const odd = createWorkspace();
    const one = (operationId: string) => ({ operationId, responses: {} });
    put(
      odd,
      document('https://api.example.com', {
        '': { get: one('a') },
        'echo/{id}': { get: one('b') },
        '/c': { GET: one('c'), query: one('d'), put: one('e'), 'x-y': {}, parameters: [], summary: 'C' },
        'x-z': { get: one('f') },
      }),
    );
    const found = json(await wield(odd, ['list', '--json']));
    expect(found.problems.map(({ message }: { message: string }) => message)).toEqual([
      'GET is left out: its path does not begin with /',
      'GET echo/{id} is left out: its path does not begin with /',
      'GET /c is left out: GET is not a method',
      'QUERY /c is left out: query is not a method',
    ]);
    expect(found.tools).toMatchObject([{ name: 'e' }]);
    // `check` says the same, also from elsewhere.
    const elsewhere = createWorkspace();
    for (const [from, args] of [
      [workspace, []],
      [elsewhere, [workspace.dir]],
    ] as const) {
      const { findings } = json(await wield(from, ['check', ...args, '--json']));
      expect(findings.map(({ path }: { path: string }) => path.split('/').at(-1))).toEqual([
        ...['broken.openapi.json', 'cut.openapi.yml', 'half.openapi.json', 'relative.openapi.json'],
        'strange.openapi.yaml',
      ]);
    }
  });
});

describe('a large document', () => {
  const large = (end = '') => {
    const operations = Array.from(
      { length: 1500 },
      (_, at) =>
        `  /p${at}:\n    get:\n      operationId: op${at}\n      summary: ${'Reads a thing. '.repeat(10)}\n      responses: {}\n`,
    );
    return `openapi: 3.1.0\nservers: [{ url: https://api.example.com }]\npaths:\n${operations.join('')}${end}`;
  };

  spec.thorough('OAS-1 OAS-10', 'is read while other work goes on, in JSON and YAML', async () => {
    const workspace = createWorkspace();
    put(workspace, large(), 'api.openapi.yaml');
    const body = { content: { 'application/json': { schema: { $ref: '#/components/schemas/Node' } } } };
    const paths = Object.fromEntries(
      Array.from({ length: 1000 }, (_, at) => [`/p${at}`, { post: { operationId: `op${at}`, requestBody: body } }]),
    );
    const properties = { id: { type: 'string' }, children: { items: { $ref: '#/components/schemas/Node' } } };
    const components = { schemas: { Node: { type: 'object', properties, required: ['id'] } } };
    put(workspace, document('https://api.example.com', paths, { components }), 'more.openapi.json');
    const toolbox = workspace.toolbox();
    let turns = 0;
    let isDone = false;
    const turn = (): void => {
      turns++;
      if (!isDone) setImmediate(turn);
    };
    turn();
    const tools = await toolbox.list();
    isDone = true;
    expect(tools.filter(({ action }) => action.kind === 'http')).toHaveLength(2500);
    // Without a thread there are fewer than ten.
    expect(turns).toBeGreaterThan(50);
    const [again, found] = await Promise.all([toolbox.list(), toolbox.find('op7')]);
    expect([again.length, found.name]).toEqual([tools.length, 'op7']);
    // The first document has the name already.
    const deep = await toolbox.call('more_op7', { id: 'a', children: [{ id: 1 }] });
    expect(deep.error).toMatchObject({ code: 'invalid_input', message: expect.stringContaining('children') });
    put(workspace, document('https://api.example.com', { '/a': get([]) }), 'api.openapi.yaml');
    expect((await toolbox.list()).some(({ name }) => name === 'more_op7')).toBe(false);
  });

  spec('OAS-1 OAS-10', 'with a fault is a problem with its line, and refers to others of that size', async () => {
    const workspace = createWorkspace();
    put(workspace, large('  /broken: [\n'), 'broken.openapi.yaml');
    const long = 'x'.repeat(100_000);
    workspace.write('.agents/tools/parts.yaml', `a: { get: { operationId: part, description: ${long} } }\n`);
    put(workspace, document('https://a.example', { '/a': { $ref: 'parts.yaml#/a' } }), 'refers.openapi.json');
    // Small, but with as many values as a large one.
    const object = { properties: Object.fromEntries(Array.from({ length: 800 }, (_, at) => [`k${at}`, {}])) };
    const paths = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [
        `/p${at}`,
        { get: { operationId: `wide${at}`, parameters: [{ name: 'q', in: 'query', schema: { $ref: '#/x-o' } }] } },
      ]),
    );
    put(workspace, document('https://a.example', paths, { 'x-o': object }), 'wide.openapi.json');
    const toolbox = workspace.toolbox();
    const problems = await toolbox.catalog.problems();
    const of = (name: string) => problems.find(({ path }) => path.endsWith(name));
    expect(of('broken.openapi.yaml')).toMatchObject({
      line: expect.any(Number),
      message: expect.stringContaining('is not valid YAML'),
    });
    const names = (await toolbox.list()).map(({ name }) => name);
    expect(names.filter((name) => /^(?:part|wide\d+)$/.test(name))).toHaveLength(41);
    expect([of('refers.openapi.json'), of('wide.openapi.json')]).toEqual([undefined, undefined]);
  });
});

describe('a large document that was read before', () => {
  spec(
    'OAS-11 STA-2',
    'is used as it was kept, while its bytes are the same and the file is whole and private',
    async () => {
      const workspace = createWorkspace();
      const about = 'Reads a thing. '.repeat(10);
      const paths = (text: string) =>
        Object.fromEntries(
          Array.from({ length: 400 }, (_, at) => [`/p${at}`, { get: { operationId: `op${at}`, summary: text } }]),
        );
      put(workspace, document('https://api.example.com', paths(about)));
      const describeIt = async () => (await workspace.toolbox().find('op7')).description;
      const directory = join(workspace.env.WIELD_HOME!, 'cache/openapi');
      expect(await describeIt()).toBe(about.trim());
      const [name = '', ...others] = readdirSync(directory);
      expect(others).toEqual([]);
      const file = join(directory, name);
      const { label, text: body } = readCacheFile(file);
      // Proves that it is read.
      const other = seal(body.replaceAll('Reads a thing', 'Reads a thong'), label).toString();
      const isUsed = async (text: string, mode = 0o600) => {
        writeFileSync(file, text);
        chmodSync(file, mode);
        return (await describeIt()).includes('thong');
      };
      expect(await isUsed(other)).toBe(true);
      expect(await isUsed(other, 0o666)).toBe(false);
      expect(await isUsed(other.slice(0, -40))).toBe(false);
      expect(await isUsed(other.replace('thong', 'thung'))).toBe(false);
      expect(await isUsed(other.replace(/"[0-9a-f]{64}"/, `"${'0'.repeat(64)}"`))).toBe(false);
      expect(await isUsed(other)).toBe(true);
      expect((await workspace.toolbox().plan('op7', {})).plan).toMatchObject({
        method: 'GET',
        url: 'https://api.example.com/v1/p7',
      });
      const changed = paths('Reads another one.'.repeat(10));
      put(workspace, document('https://api.example.com', { ...changed, '/p7': { $ref: 'link.json#/a' } }));
      const part = (summary: string) => JSON.stringify({ a: { get: { operationId: 'op7', summary } } });
      for (const [at, summary] of ['First.', 'Other.'].entries()) {
        // The same link leads to another file.
        workspace.write(`.agents/tools/part${at}.json`, part(summary));
        const link = join(workspace.dir, '.agents/tools/link.json');
        rmSync(link, { force: true });
        symlinkSync(`part${at}.json`, link);
        expect(await describeIt()).toBe(summary);
      }
      expect((await workspace.toolbox().find('op8')).description).toContain('Reads another one.');
    },
  );
});

describe('a request', () => {
  const array = ['blue', 'black', 'b&r'];
  const object = { R: 100, G: 'x&y' };
  const STYLES: readonly (readonly [string, string, boolean, string, string])[] = [
    ['path', 'simple', false, 'blue,black,b%26r', 'R,100,G,x%26y'],
    ['path', 'simple', true, 'blue,black,b%26r', 'R=100,G=x%26y'],
    ['path', 'label', false, '.blue,black,b%26r', '.R,100,G,x%26y'],
    ['path', 'label', true, '.blue.black.b%26r', '.R=100.G=x%26y'],
    ['path', 'matrix', false, ';p=blue,black,b%26r', ';p=R,100,G,x%26y'],
    ['path', 'matrix', true, ';p=blue;p=black;p=b%26r', ';R=100;G=x%26y'],
    ['query', 'form', false, 'p=blue,black,b%26r', 'p=R,100,G,x%26y'],
    ['query', 'form', true, 'p=blue&p=black&p=b%26r', 'R=100&G=x%26y'],
    ['query', 'spaceDelimited', false, 'p=blue%20black%20b%26r', 'p=R%20100%20G%20x%26y'],
    ['query', 'pipeDelimited', false, 'p=blue%7Cblack%7Cb%26r', 'p=R%7C100%7CG%7Cx%26y'],
    ['query', 'deepObject', true, 'p%5B%5D=blue&p%5B%5D=black&p%5B%5D=b%26r', 'p%5BR%5D=100&p%5BG%5D=x%26y'],
  ];

  spec('OAS-2 OAS-3', 'serializes every style', async () => {
    const server = await startEcho();
    const workspace = createWorkspace();
    const paths = Object.fromEntries(
      STYLES.map(([place, style, explode], at) => [
        place === 'path' ? `/s${at}/{p}` : `/s${at}`,
        {
          get: {
            operationId: `s${at}`,
            parameters: [{ name: 'p', in: place, style, explode, schema: {} }],
            responses: {},
          },
        },
      ]),
    );
    put(workspace, document(server.origin, paths));
    const toolbox = workspace.toolbox();
    for (const [at, [place, , , ofArray, ofObject]] of STYLES.entries()) {
      const start = `/v1/s${at}${place === 'path' ? '/' : '?'}`;
      expect([at, echoOf(await toolbox.call(`s${at}`, { p: array })).url]).toEqual([at, start + ofArray]);
      expect([at, echoOf(await toolbox.call(`s${at}`, { p: object })).url]).toEqual([at, start + ofObject]);
    }
    const sent = server.requests.length;
    for (const [at, [, style, explode]] of STYLES.entries()) {
      const separator = { spaceDelimited: ' ', pipeDelimited: '|' }[style] ?? (style === 'label' && explode ? '.' : '');
      if (separator === '') continue;
      for (const p of [['a', `b${separator}c`], { R: `b${separator}c` }])
        expect((await toolbox.call(`s${at}`, { p })).error).toMatchObject({
          code: 'invalid_input',
          message: expect.stringContaining('which separates its items'),
        });
    }
    expect(server.requests).toHaveLength(sent);
  });

  spec('OAS-12', 'sends no fragment, and what it hid', async () => {
    const echo = await startEcho();
    const workspace = createWorkspace();
    const arn = { name: 'arn', in: 'path', required: true, schema: { type: 'string' } };
    const keys = { name: 'tagKeys', in: 'query', required: true, schema: { type: 'array', items: { type: 'string' } } };
    const servers = (url: string) => ({ servers: [{ url }] });
    const paths = {
      '/tags/{arn}': get([arn], { operationId: 'list' }),
      '/tags/{arn}#tagKeys': {
        parameters: [arn],
        delete: { operationId: 'untag', parameters: [keys], responses: {} },
        get: { parameters: [keys], responses: {} },
      },
      '/?Action=Copy#{x}&#y': get([keys], { operationId: 'fixed' }),
      '/at#1': get([keys], { operationId: 'at', ...servers(`${echo.origin}/v2/#main`) }),
      '/placeholder': get([], { operationId: 'placeholder', ...servers(`${echo.origin}/{tenant}/v2`) }),
      '/query': get([], { operationId: 'query', ...servers(`${echo.origin}/v2?a=1`) }),
    };
    put(workspace, document(echo.origin, paths));
    const toolbox = workspace.toolbox();
    const urlOf = async (name: string, input: Record<string, unknown>) => echoOf(await toolbox.call(name, input)).url;
    const tagKeys = ['a#b', 'c'];
    expect(await urlOf('list', { arn: 'x#y' })).toBe('/v1/tags/x%23y');
    expect(await urlOf('untag', { arn: 'x', tagKeys })).toBe('/v1/tags/x?tagKeys=a%23b&tagKeys=c');
    expect(await urlOf('get_tags_arn_tag_keys', { arn: 'x', tagKeys })).toBe('/v1/tags/x?tagKeys=a%23b&tagKeys=c');
    expect(await urlOf('fixed', { tagKeys })).toBe('/v1/?Action=Copy&tagKeys=a%23b&tagKeys=c');
    expect(await urlOf('at', { tagKeys: ['1'] })).toBe('/v2/at?tagKeys=1');
    for (const name of ['query', 'placeholder']) expect((await toolbox.call(name, {})).error?.code).toBe('unavailable');
    workspace.config(`[openapi.api]\nserver = "${echo.origin}/#v3"\n`);
    expect((await workspace.toolbox().call('list', { arn: 'x' })).error?.message).toContain('server');
  });

  spec(
    'OAS-2 OAS-3',
    'sends headers, cookies, JSON and reserved characters, and refuses paths that lead elsewhere',
    async () => {
      const server = await startEcho();
      const workspace = createWorkspace();
      const parameters = [
        { name: 'id', in: 'path', schema: { type: 'string' } },
        { name: 'id', in: 'query', schema: { type: 'string' } },
        { name: 'q[a]', in: 'query', allowReserved: true, schema: { type: 'string' } },
        { name: 'where', in: 'query', content: { 'application/json': { schema: { type: 'object' } } } },
        { name: 'X-One', in: 'header', schema: { type: 'array', items: {} } },
        { name: 'c', in: 'cookie', schema: { type: 'string' } },
        { name: 'Authorization', in: 'header', schema: { type: 'string' } },
      ];
      put(workspace, document(server.origin, { '/p/{id}': get(parameters) }));
      const toolbox = workspace.toolbox();
      expect(Object.keys((await toolbox.find('op')).input.json.properties as object)).toEqual([
        'id',
        'query_id',
        'q_a',
        'where',
        'X-One',
        'c',
      ]);
      const input = { id: 'a/b', query_id: '2', q_a: 'x/y?&z', where: { a: 1 }, 'X-One': [1, 2], c: 'd e' };
      const { url, headers } = echoOf(await toolbox.call('op', input));
      expect(url).toBe('/v1/p/a%2Fb?id=2&q%5Ba%5D=x/y?%26z&where=%7B%22a%22%3A1%7D');
      expect(headers).toMatchObject({ 'x-one': '1,2', cookie: 'c=d%20e' });
      for (const id of ['..', '.', '', '%2e%2E']) {
        const sent = (await toolbox.call('op', { id })).error;
        if (id === '%2e%2E') expect(sent).toBeUndefined();
        else expect([id, sent?.code]).toEqual([id, 'invalid_input']);
      }
      for (const item of ['a\r\nb: c', 'a,b'])
        expect((await toolbox.call('op', { id: 'x', 'X-One': [item] })).error?.code).toBe('invalid_input');
      const nested = [{ a: 1, b: [2] }, 'c'];
      expect(echoOf(await toolbox.call('op', { id: 'x', 'X-One': nested })).headers['x-one']).toBe(
        JSON.stringify(nested),
      );
      expect(server.requests.every(({ url: one }) => one!.startsWith('/v1/p/'))).toBe(true);
    },
  );

  spec('OAS-2 OAS-3', 'has a body of every kind', async () => {
    const server = await startEcho();
    const workspace = createWorkspace();
    const body = (type: string, schema: unknown, more = {}) => ({
      required: true,
      content: { [type]: { schema, ...more } },
    });
    const fields = {
      type: 'object',
      required: ['name'],
      properties: { id: { type: 'integer' }, name: { type: 'string' }, made: { type: 'string', readOnly: true } },
    };
    const post = (operationId: string, requestBody: unknown, parameters: readonly unknown[] = []) => ({
      post: { operationId, requestBody, parameters, responses: {} },
    });
    const file = {
      type: 'object',
      properties: {
        file: { type: 'string', format: 'binary' },
        tags: { type: 'array', items: { type: 'string' } },
        meta: { type: 'object' },
      },
    };
    put(
      workspace,
      document(server.origin, {
        '/j/{id}': post('merged', body('application/json', fields), [
          { name: 'id', in: 'path', schema: { type: 'string' } },
        ]),
        '/o': post('open', body('application/json', { ...fields, additionalProperties: true })),
        '/l': post('listed', body('application/vnd.x+json', { type: 'array', items: { type: 'integer' } })),
        '/f': post(
          'form',
          body(
            'application/x-www-form-urlencoded',
            { type: 'object', properties: { a: { type: 'string' }, b: { type: 'array', items: {} } } },
            { encoding: { b: { explode: false } } },
          ),
        ),
        '/m': post('multi', body('multipart/form-data', file)),
        '/t': post('plain', body('text/plain', { type: 'string' })),
        '/b': post('bytes', body('application/octet-stream', { type: 'string', format: 'binary' })),
      }),
    );
    const toolbox = workspace.toolbox();
    expect((await toolbox.find('merged')).input.json).toMatchObject({
      required: ['id', 'name'],
      properties: { id: {}, body_id: {}, name: {} },
    });
    const merged = echoOf(await toolbox.call('merged', { id: 'p', body_id: 4, name: 'n' }));
    expect([merged.url, JSON.parse(merged.body)]).toEqual(['/v1/j/p', { id: 4, name: 'n' }]);
    expect((await toolbox.call('merged', { id: 'p', name: 'n', made: 'x' })).error?.code).toBe('invalid_input');
    const open = { name: 'n', other: 1 };
    expect(JSON.parse(echoOf(await toolbox.call('open', { body: open })).body)).toEqual(open);
    const listed = echoOf(await toolbox.call('listed', { body: [1, 2] }));
    expect([listed.body, listed.headers['content-type']]).toEqual(['[1,2]', 'application/vnd.x+json']);
    expect(echoOf(await toolbox.call('form', { a: 'x y&z', b: [1, 2] })).body).toBe('a=x%20y%26z&b=1,2');
    const multi = echoOf(await toolbox.call('multi', { file: 'AAEC', tags: ['a', 'b'], meta: { x: 1 } }));
    expect(multi.body).toContain(
      'name="file"; filename="file"\r\nContent-Type: application/octet-stream\r\n\r\n\u0000\u0001\u0002\r\n',
    );
    expect(multi.body.match(/name="tags"/g)).toHaveLength(2);
    expect(multi.body).toContain('name="meta"\r\nContent-Type: application/json\r\n\r\n{"x":1}');
    expect(echoOf(await toolbox.call('plain', { body: 'hi' })).body).toBe('hi');
    expect(echoOf(await toolbox.call('bytes', { body: 'AAEC' })).body).toBe('\u0000\u0001\u0002');
    expect((await toolbox.call('bytes', { body: 'not base64!' })).error?.code).toBe('invalid_input');
  });

  spec('OAS-1 OAS-3', 'of Swagger 2.0 is the same', async () => {
    const server = await startEcho();
    const workspace = createWorkspace();
    const text = [
      'swagger: "2.0"',
      `host: ${server.origin.slice('http://'.length)}`,
      'schemes: [http]',
      'basePath: /api',
      'definitions: { Pet: { type: object, properties: { name: { type: string, x-nullable: true } } } }',
      'paths:',
      '  /pets/{id}:',
      '    post:',
      '      operationId: addPet',
      '      parameters:',
      '        - { name: id, in: path, required: true, type: integer }',
      '        - { name: tags, in: query, type: array, items: { type: string }, collectionFormat: multi }',
      '        - { name: ids, in: query, type: array, items: { type: string } }',
      '        - { name: pet, in: body, required: true, schema: { $ref: "#/definitions/Pet" } }',
      '      responses: { 200: { description: ok } }',
      '  /files:',
      '    post:',
      '      operationId: sendFile',
      '      consumes: [multipart/form-data]',
      '      parameters: [{ name: doc, in: formData, type: file, required: true }]',
      '      responses: { 200: { description: ok } }',
    ];
    put(workspace, text.join('\n'), 'old.openapi.yaml');
    const toolbox = workspace.toolbox();
    const sent = echoOf(await toolbox.call('add_pet', { id: 1, tags: ['a', 'b'], ids: ['c', 'd'], name: null }));
    expect([sent.url, sent.body]).toEqual(['/api/pets/1?tags=a&tags=b&ids=c,d', '{"name":null}']);
    expect(echoOf(await toolbox.call('send_file', { doc: 'AAEC' })).body).toContain('filename="doc"');
  });
});

describe('a response', () => {
  spec('OAS-4 OAS-5', 'is structured, a picture, a handle or a failure', async () => {
    const server = await startEcho();
    const workspace = createWorkspace();
    const paths = {
      '/things': {
        get: {
          operationId: 'things',
          responses: {
            200: {
              content: {
                'application/json': {
                  schema: { type: 'object', required: ['absent'], properties: { method: { type: 'string' } } },
                },
              },
            },
          },
        },
      },
      '/picture': { get: { operationId: 'picture', responses: {} } },
      '/large': { get: { operationId: 'large', responses: {} } },
      '/status/404': { delete: { operationId: 'gone', responses: {} } },
      '/status/429': { get: { operationId: 'busy', responses: {} } },
    };
    put(workspace, document(server.origin, paths));
    const toolbox = workspace.toolbox();
    const things = await toolbox.call('things', {});
    expect(things).toMatchObject({ ok: true, structured: { method: 'GET' } });
    expect((await toolbox.find('things')).output?.json).toMatchObject({
      type: 'object',
      properties: { method: { type: ['string', 'null'] } },
    });
    expect((await toolbox.call('picture', {})).content).toEqual([
      { type: 'image', data: 'iVBORw==', mimeType: 'image/png' },
    ]);
    expect((await toolbox.call('large', {})).meta.handle).toMatchObject({ kind: 'json' });
    expect((await toolbox.call('gone', {})).error).toMatchObject({ code: 'tool_failed', data: { status: 404 } });
    expect((await toolbox.call('busy', {})).error?.hint).toContain('try again');
    const { readOnly, destructive } = (await toolbox.find('things')).traits;
    expect([readOnly, destructive, (await toolbox.find('gone')).traits.destructive]).toEqual([true, undefined, true]);
    const asked = await workspace.toolbox({ trust: true }).call('gone', {}, { caller: { kind: 'model', door: 'mcp' } });
    expect(asked.error?.code).toBe('needs_approval');
  });

  spec('OAS-5', 'is read in the charset that it names', async () => {
    const answers: Readonly<Record<string, readonly [type: string, bytes: Buffer]>> = {
      latin: ['text/plain; charset=iso-8859-1', Buffer.from('caf\u00e9', 'latin1')],
      wide: ['text/plain; Charset="UTF-16LE"', Buffer.from('caf\u00e9', 'utf16le')],
      unknown: ['text/plain; charset=x-none', Buffer.from('caf\u00e9')],
      marked: ['application/json', Buffer.from('\ufeff{"a":"caf\u00e9"}')],
    };
    const server = await listen(({ url = '' }, response) => {
      const [type, bytes] = answers[url.replace('/v1/', '')]!;
      response.setHeader('content-type', type);
      response.end(bytes);
    });
    const workspace = createWorkspace();
    const paths = Object.keys(answers).map((name) => [`/${name}`, { get: { operationId: name, responses: {} } }]);
    put(workspace, document(server.origin, Object.fromEntries(paths)));
    const toolbox = workspace.toolbox();
    for (const name of ['latin', 'wide', 'unknown'])
      expect([name, textOf(await toolbox.call(name, {}))]).toEqual([name, 'caf\u00e9']);
    const marked = await toolbox.call('marked', {});
    expect([textOf(marked), marked.structured]).toEqual(['{"a":"caf\u00e9"}', { a: 'caf\u00e9' }]);
  });

  spec('OAS-5', 'of a dry run is the request, and nothing is sent', async () => {
    const server = await startEcho();
    const workspace = createWorkspace();
    put(
      workspace,
      document(server.origin, {
        '/a': {
          post: {
            operationId: 'make',
            requestBody: {
              content: { 'application/json': { schema: { type: 'object', properties: { n: { type: 'integer' } } } } },
            },
            responses: {},
          },
        },
      }),
    );
    const { plan } = json(await wield(workspace, ['call', 'make', '--n', '3', '--dry-run', '--json']));
    expect(plan).toMatchObject({
      kind: 'http',
      method: 'POST',
      url: `${server.origin}/v1/a`,
      body: '{"n":3}',
      credentials: [],
    });
    expect((await wield(workspace, ['call', 'make', '--n', '3', '--dry-run'])).stdout).toContain(
      `would send  POST ${server.origin}/v1/a`,
    );
    expect(server.requests).toEqual([]);
  });
});

describe('the configuration', () => {
  const secured = (origin: string): string =>
    document(
      origin,
      {
        '/a': { get: { operationId: 'one', tags: ['x'], responses: {} } },
        '/b': { get: { operationId: 'two', security: [{ key: [] }], responses: {} } },
        '/c': { delete: { operationId: 'three', servers: [{ url: 'http://127.0.0.1:1' }], responses: {} } },
      },
      {
        security: [{ token: [] }],
        components: {
          securitySchemes: {
            token: { type: 'http', scheme: 'bearer' },
            key: { type: 'apiKey', in: 'query', name: 'k' },
          },
        },
      },
    );

  spec('OAS-6', 'names a document, selects operations and replaces the server', async () => {
    const server = await startEcho();
    const workspace = createWorkspace();
    const file = workspace.write('specs/shop.json', secured('https://elsewhere.example'));
    workspace.config(
      `[openapi.shop]\nspec = ${JSON.stringify(file)}\nserver = "${server.origin}/s"\nexclude = ["DELETE *"]\n`,
    );
    const { tools } = json(await wield(workspace, ['list', '--json']));
    expect(tools.map(({ name, group }: { name: string; group: string }) => [name, group])).toEqual([
      ['one', 'shop'],
      ['two', 'shop'],
    ]);
    expect(echoOf(await workspace.toolbox().call('one', {})).url).toBe('/s/a');
    workspace.config('[openapi.shop]\nspce = "x"\n');
    workspace.script('hello', '#!/bin/sh\n# @description D\necho hi\n');
    const denied = (await workspace.toolbox().call('hello', {})).error;
    expect(denied).toMatchObject({ code: 'denied', message: expect.stringContaining('did you mean "spec"?') });
  });

  spec('OAS-6 OAS-1', 'a spec that leads to no document is a problem with the line that names it', async () => {
    const workspace = createWorkspace();
    workspace.write('specs/shop.txt', secured('https://elsewhere.example'));
    for (const [given, path, why] of [
      ['~/specs/shop.json', join(workspace.home, 'specs/shop.json'), 'does not exist'],
      ['specs', join(workspace.dir, 'specs'), 'is not a file'],
      ['specs/shop.txt', join(workspace.dir, 'specs/shop.txt'), 'does not end in .json, .yaml or .yml'],
    ] as const) {
      workspace.config(`[openapi.other]\nserver = "https://x.example"\n[openapi.shop]\nspec = "${given}"\n`);
      const message = expect.stringMatching(
        new RegExp(`^is the spec of \\[openapi.shop\\] in \\S+/config.toml:3, but ${why}$`),
      );
      const { problems } = json(await wield(workspace, ['list', '--json']));
      expect(problems).toEqual([expect.objectContaining({ severity: 'error', path, message })]);
      expect((await wield(workspace, ['doctor'])).stdout).toContain(`config.toml:3, but ${why}`);
    }
    const { findings } = json(await wield(workspace, ['check', '.', '--json']));
    expect(findings).toMatchObject([{ level: 'error', path: 'specs/shop.txt' }]);
  });

  spec('OAS-8', 'sends credentials to its server only, and shows them nowhere', async () => {
    const [own, other] = [await startEcho(), await startEcho()];
    const workspace = createWorkspace();
    put(workspace, secured(other.origin));
    const table = (lines: string): void => workspace.config(`[openapi.api]\n${lines}\n`);
    workspace.env.SHOP_TOKEN = 'canary-4711-secret';
    table('auth = "${SHOP_TOKEN}"');
    expect((await workspace.toolbox().call('one', {})).error?.message).toContain('auth has no server');
    table(`server = "${own.origin}"\nauth = "canary-4711-secret"`);
    expect((await workspace.toolbox().call('one', {})).error?.message).toContain('must be a reference');
    table(`server = "${own.origin}"\nauth = { token = "\${SHOP_TOKEN}", key = "\${SHOP_TOKEN}" }`);
    const toolbox = workspace.toolbox();
    const results = [await toolbox.call('one', {}), await toolbox.call('two', {}), await toolbox.call('three', {})];
    expect(own.requests.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ['/a', 'Bearer canary-4711-secret'],
      ['/b?k=canary-4711-secret', undefined],
      ['/c', 'Bearer canary-4711-secret'],
    ]);
    expect(other.requests).toEqual([]);
    const dry = await wield(workspace, ['call', 'one', '--dry-run']);
    const log = await wield(workspace, ['log', '--json']);
    expect(JSON.stringify(results) + dry.stdout + log.stdout).not.toContain('canary-4711');
    expect(dry.stdout).toContain('Authorization: ***');
    delete workspace.env.SHOP_TOKEN;
    expect((await workspace.toolbox().call('one', {})).error).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('SHOP_TOKEN'),
    });
  });
});

describe('a document', () => {
  spec('OAS-7', 'refers to files in its folder only', async () => {
    const workspace = createWorkspace();
    const outside = workspace.write('outside.yaml', 'Secret: { type: string, description: canary-outside }\n');
    const folder = dirname(put(workspace, '{}', 'unused.json'));
    mkdirSync(join(folder, 'parts'));
    writeFileSync(
      join(folder, 'parts/pet.yaml'),
      'Pet: { type: object, properties: { next: { $ref: "#/Pet" }, tag: { $ref: "tag.yaml" } } }\n',
    );
    writeFileSync(join(folder, 'parts/tag.yaml'), 'type: string\n');
    symlinkSync(outside, join(folder, 'parts/link.yaml'));
    const withBody = (id: string, $ref: string) => ({
      post: {
        operationId: id,
        requestBody: { content: { 'application/json': { schema: { type: 'object', properties: { p: { $ref } } } } } },
        responses: {},
      },
    });
    put(
      workspace,
      document(
        'https://api.example.com',
        {
          '/good': withBody('good', 'parts/pet.yaml#/Pet'),
          '/up': withBody('up', '../../outside.yaml#/Secret'),
          '/link': withBody('link', 'parts/link.yaml#/Secret'),
          '/abs': withBody('absolute', `${outside}#/Secret`),
          '/file': withBody('file', 'file:///etc/passwd'),
          '/meta': withBody('meta', 'http://169.254.169.254/latest/meta-data'),
          '/loop': withBody('loop', '#/components/schemas/Loop'),
          '/around': { $ref: '#/paths/~1around' },
          '/missing': withBody('missing', '#/components/schemas/None'),
        },
        { components: { schemas: { Loop: { $ref: '#/components/schemas/Loop' } } } },
      ),
    );
    const toolbox = workspace.toolbox();
    const tools = await toolbox.list();
    expect(tools.map(({ name }) => name)).toEqual(['good']);
    expect(tools[0]!.input.json.$defs).toMatchObject({ Pet: { properties: { next: { $ref: '#/$defs/Pet' } } } });
    const problems = (await toolbox.catalog.problems()).map(({ message }) => message).join('\n');
    expect(problems).toContain('outside of its folder');
    expect(problems).toContain('more operations are left out');
    expect(problems + JSON.stringify(tools)).not.toContain('canary-outside');
  });

  spec('OAS-1 OAS-7', 'that changes is read again, and its text stays text', async () => {
    const workspace = createWorkspace();
    const server = { servers: [{ url: 'https://api.example.com' }] };
    put(
      workspace,
      document('', { '/a': { get: { operationId: 'first', summary: 'S\u202Eecret\u200b', responses: {} } } }, server),
    );
    const toolbox = workspace.toolbox();
    expect((await toolbox.list()).map(({ name, description }) => [name, description])).toEqual([['first', 'Secret']]);
    put(workspace, document('', { '/a': { get: { operationId: 'second', responses: {} } } }, server));
    expect((await toolbox.list()).map(({ name }) => name)).toEqual(['second']);
    expect((await wield(workspace, ['call', 'second', '--dry-run'])).status).toBe(0);
    const model = await toolbox.call('second', {}, { caller: { kind: 'model', door: 'mcp' } });
    expect(model.error?.code).toBe('needs_trust');
  });
});

describe('wield add', () => {
  const text = (id: string): string =>
    document('https://api.example.com', {
      '/a': { get: { operationId: id, responses: {} }, post: { operationId: 'make', responses: {} } },
    });

  spec('OAS-9', 'copies a document from a file or an address', async () => {
    const workspace = createWorkspace();
    workspace.write('shop.yaml', text('one'));
    const added = await wield(workspace, ['add', '--yes', 'shop.yaml']);
    expect(added.stdout).toBe(
      '  found    2 operations at https://api.example.com/v1    1 read-only, 1 ask first\n  Try      wield shop one --help\n',
    );
    expect(added.stderr).toContain('is a placeholder; set server = "https://…" in [openapi.shop]');
    for (const [host, isPlaceholder] of Object.entries({
      'your-domain.com': true,
      'api.mycompany.test': true,
      'yourdomain.atlassian.net': true,
      'api.your-host.dev': true,
      'example.io': false,
      'api.myapis.com': false,
      'contest.org': false,
    })) {
      workspace.write('host.json', document(`https://${host}`, { '/a': get([]) }));
      const { problems } = json(await wield(workspace, ['add', '--yes', 'host.json', '--force', '--json'])).document;
      expect([host, problems.length]).toEqual([host, isPlaceholder ? 1 : 0]);
    }
    expect((await wield(workspace, ['shop', 'one', '--dry-run'])).stdout).toContain('GET https://api.example.com/v1/a');
    const server = await listen((_request, response) => response.end(text('two')));
    const url = `${server.origin}/x/depot.json?v=1`;
    const { document: found } = json(await wield(workspace, ['add', '--yes', url, '--namespace', 'far', '--json']));
    expect(found).toMatchObject({ name: 'far', operations: 2, readOnly: 1, asks: 1 });
    expect(found.problems).toMatchObject([{ message: 'the server https://api.example.com/v1 is a placeholder' }]);
    expect(found.file).toBe(join(workspace.home, '.agents/tools/far.openapi.json'));
    const { tools } = json(await wield(workspace, ['list', '--json']));
    const names = tools.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(['one', 'two', 'make', 'shop_make']));
  });

  spec('OAS-9', 'changes nothing if the document cannot be used, or another one is there', async () => {
    const workspace = createWorkspace();
    workspace.write('shop.json', text('one'));
    expect((await wield(workspace, ['add', '--yes', 'shop.json'])).status).toBe(0);
    const kept = join(workspace.home, '.agents/tools/shop.openapi.json');
    workspace.write('other/shop.json', text('two'));
    expect((await wield(workspace, ['add', '--yes', 'other/shop.json'])).stderr).toContain('exists and is different');
    expect(readFileSync(kept, 'utf8')).toContain('"one"');
    expect((await wield(workspace, ['add', '--yes', 'other/shop.json', '--force'])).status).toBe(0);
    expect(readFileSync(kept, 'utf8')).toContain('"two"');
    workspace.write('bad.json', '{ "openapi":\n ]');
    workspace.write('none.yaml', 'openapi: 3.0.0\npaths: {}\n');
    workspace.write('part.json', '{ "type": "string" }');
    const body = { content: { 'application/json': { schema: { $ref: 'part.json' } } } };
    const split = { '/a': { post: { operationId: 'x', requestBody: body, responses: {} } } };
    workspace.write('split.json', document('https://api.example.com', split));
    for (const [name, message] of Object.entries({
      'bad.json': 'bad.json:2: is not valid JSON',
      'none.yaml': 'has no operations',
      'split.json': 'refers to 1 other file',
    })) {
      const refused = await wield(workspace, ['add', '--yes', name]);
      expect([name, refused.status]).toEqual([name, expect.any(Number)]);
      expect(refused.status).not.toBe(0);
      expect(refused.stderr).toContain(message);
    }
    expect(readdirSync(join(workspace.home, '.agents/tools'))).toEqual(['shop.openapi.json']);
    workspace.script(
      'sneak',
      `#!/bin/sh\n# @description D\nexec ${process.execPath} '${binary()}' add shop.json --namespace mine\n`,
    );
    await wield(workspace, ['call', 'sneak']);
    expect(readdirSync(join(workspace.home, '.agents/tools'))).toEqual(['shop.openapi.json']);
  });
});
