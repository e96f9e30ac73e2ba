// OpenAPI documents and servers that are hostile: paths, headers, credentials, endless answers, documents that grow.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { json, wield } from '../support/cli.js';
import { listen } from '../support/http.js';
import { spec } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

type Fields = Readonly<Record<string, unknown>>;

function put(workspace: Workspace, origin: string, paths: Fields, more: Fields = {}): void {
  const document = { openapi: '3.1.0', info: { title: 'T', version: '1' }, servers: [{ url: origin }], paths, ...more };
  workspace.write('.agents/tools/api.openapi.json', JSON.stringify(document));
}

const echo = () => listen(({ url, headers }, response) => response.end(JSON.stringify({ url, headers })));

describe('a request', () => {
  spec('OAS-3', 'A19: no value of a path leads to another path', async () => {
    const server = await echo();
    const workspace = createWorkspace();
    const list = { type: 'array', items: { type: 'string' } };
    const of = (style: string, schema: Fields) => ({
      get: { operationId: `in_${style}`, parameters: [{ name: 'id', in: 'path', style, schema }] },
    });
    put(workspace, server.origin, {
      '/a/{id}/x': of('simple', { type: ['string', 'array', 'object', 'null'] }),
      '/b/{id}': of('label', list),
      '/c/{id}': of('matrix', { ...list, type: ['array', 'object'] }),
    });
    const toolbox = workspace.toolbox();
    const values = [
      '',
      [],
      [''],
      ['', ''],
      {},
      null,
      '..',
      '../admin',
      'a/../../admin',
      '..\\x',
      './x',
      '%2e%2e',
      'a/.',
    ];
    for (const id of values) {
      const { error } = await toolbox.call('in_simple', { id });
      const isKept = id === '%2e%2e';
      expect([id, error?.code]).toEqual([id, isKept ? undefined : 'invalid_input']);
    }
    for (const name of ['in_label', 'in_matrix'])
      for (const id of [[], ['']]) expect((await toolbox.call(name, { id })).error?.code).toBe('invalid_input');
    expect((await toolbox.call('in_matrix', { id: {} })).error?.code).toBe('invalid_input');
    expect((await toolbox.call('in_simple', { id: 'src/a..b/.c' })).error).toBeUndefined();
    expect(server.requests.map(({ url }) => url)).toEqual(['/a/%252e%252e/x', '/a/src%2Fa..b%2F.c/x']);
  });

  spec('OAS-3', 'text that is not valid Unicode is sent in JSON only', async () => {
    const server = await echo();
    const workspace = createWorkspace();
    const object = { type: 'object', properties: { x: {}, y: {} } };
    const post = (operationId: string, type: string, schema: Fields) => ({
      post: { operationId, requestBody: { required: true, content: { [type]: { schema } } } },
    });
    const parameters = ['path', 'query', 'header', 'cookie'].map((place) => ({ name: place, in: place, schema: {} }));
    put(workspace, server.origin, {
      '/a/{path}': { get: { operationId: 'op', parameters } },
      '/f': post('form', 'application/x-www-form-urlencoded', object),
      '/m': post('multi', 'multipart/form-data', object),
      '/t': post('plain', 'text/plain', { type: 'string' }),
      '/j': post('typed', 'application/json', object),
    });
    const toolbox = workspace.toolbox();
    const bad = 'a\ud800';
    const calls: [string, Fields][] = [
      ...parameters.map(({ name }): [string, Fields] => ['op', { path: 'p', [name]: bad }]),
      ['op', { path: [bad] }],
      ['op', { path: 'p', query: { [bad]: 'x' } }],
      ['form', { x: bad }],
      ['multi', { x: bad }],
      ['multi', { x: { y: [bad] } }],
      ['plain', { body: bad }],
    ];
    for (const [name, input] of calls)
      expect([name, (await toolbox.call(name, input)).error]).toMatchObject([
        name,
        { code: 'invalid_input', message: expect.stringContaining('is not valid Unicode') },
      ]);
    expect(server.requests).toHaveLength(0);
    expect((await toolbox.call('typed', { x: bad })).error).toBeUndefined();
    expect((await toolbox.call('op', { path: '\u{1f600}' })).error).toBeUndefined();
  });

  spec('OAS-3', 'a value of a cookie or header is one value', async () => {
    const server = await echo();
    const workspace = createWorkspace();
    const parameters = [
      { name: 'c', in: 'cookie', allowReserved: true, schema: {} },
      { name: 'x-h', in: 'header', schema: {} },
    ];
    put(workspace, server.origin, { '/a': { get: { operationId: 'op', parameters } } });
    const toolbox = workspace.toolbox();
    await toolbox.call('op', { c: 'a; admin=1' });
    expect(server.requests[0]?.headers.cookie).toBe('c=a%3B%20admin%3D1');
    for (const value of ['a\r\nx-admin: 1', 'a\0', ['a\nb'], { a: 'b\r' }])
      expect((await toolbox.call('op', { 'x-h': value })).error?.code).toBe('invalid_input');
    expect(server.requests).toHaveLength(1);
  });

  spec('OAS-8', 'credentials of every kind need encryption, and are in no output in any form', async () => {
    const server = await echo();
    const workspace = createWorkspace();
    const securitySchemes = {
      key: { type: 'apiKey', in: 'header', name: 'x-key' },
      query: { type: 'apiKey', in: 'query', name: 'k' },
      cookie: { type: 'apiKey', in: 'cookie', name: 'k' },
      basic: { type: 'http', scheme: 'basic' },
      bearer: { type: 'http', scheme: 'bearer' },
    };
    const names = Object.keys(securitySchemes);
    const paths = names.map((name) => [`/${name}`, { get: { operationId: name, security: [{ [name]: [] }] } }]);
    put(workspace, server.origin, Object.fromEntries(paths), { components: { securitySchemes } });
    workspace.env.SHOP = 'canary:grosbeak/secret+x';
    const use = (url: string): void => workspace.config(`[openapi.api]\nserver = "${url}"\nauth = "\${SHOP}"\n`);
    use('http://shop.example.com');
    for (const name of names)
      expect([name, (await workspace.toolbox().call(name, {})).error?.message]).toEqual([
        name,
        expect.stringMatching(/^not sent: .* unencrypted/),
      ]);
    use(server.origin);
    for (const name of names) {
      const text = JSON.stringify(await workspace.toolbox().call(name, {}));
      expect([name, text.includes('[redacted]'), /grosbeak|Y2FuYXJ5/.test(text)]).toEqual([name, true, false]);
    }
  });

  spec('OAS-8 ERR-5', 'credentials are redacted as they are sent, in every encoding', async () => {
    const server = await listen((request, response) => {
      const { authorization = '' } = request.headers;
      const bytes = Buffer.from(authorization);
      const shown = [
        bytes.toString('base64'),
        bytes.toString('base64url'),
        bytes.toString('hex'),
        encodeURIComponent(authorization),
      ];
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ shown }));
    });
    const workspace = createWorkspace();
    const securitySchemes = { bearer: { type: 'http', scheme: 'bearer' }, basic: { type: 'http', scheme: 'basic' } };
    const paths = {
      '/a': { get: { operationId: 'a', security: [{ bearer: [] }] } },
      '/b': { get: { operationId: 'b', security: [{ basic: [] }] } },
    };
    put(workspace, server.origin, paths, { components: { securitySchemes } });
    Object.assign(workspace.env, { TOKEN: 'tok-grosbeak-abcdef', PASS: 'pass-grosbeak-abcdef' });
    workspace.config(
      `[openapi.api]\nserver = "${server.origin}"\nauth = { bearer = "\${TOKEN}", basic = "ada:\${PASS}" }\n`,
    );
    for (const name of ['a', 'b']) {
      const { structured } = await workspace.toolbox().call(name, {});
      const { shown } = structured as { shown: string[] };
      for (const text of shown) {
        expect([name, text]).toEqual([name, expect.stringContaining('[redacted]')]);
        const [base64, hex] = [Buffer.from(text, 'base64').toString(), Buffer.from(text, 'hex').toString()];
        expect(`${text} ${base64} ${hex}`).not.toMatch(/grosbeak|abcdef/);
      }
    }
  });

  spec('TOOL-24 OAS-5', 'an answer of any depth is text, also with credentials', async () => {
    const server = await listen(({ url }, response) => {
      const text = url === '/b' ? '['.repeat(50_000) + ']'.repeat(50_000) : '['.repeat(2_000_000);
      response.writeHead(200, { 'content-type': 'application/json' }).end(text);
    });
    const workspace = createWorkspace();
    const securitySchemes = { key: { type: 'apiKey', in: 'header', name: 'x-key' } };
    const responses = { 200: { content: { 'application/json': { schema: { type: 'array' } } } } };
    const operations = {
      '/a': { get: { operationId: 'op', security: [{ key: [] }] } },
      '/b': { get: { operationId: 'typed', security: [{ key: [] }], responses } },
    };
    put(workspace, server.origin, operations, { components: { securitySchemes } });
    workspace.env.SHOP = 'canary-4711';
    workspace.config(`[openapi.api]\nserver = "${server.origin}"\nauth = "\${SHOP}"\n`);
    const toolbox = workspace.toolbox();
    expect(await toolbox.call('op', {}, { full: true })).toMatchObject({
      ok: true,
      content: [{ text: expect.stringMatching(/^\[{2000000}$/) }],
    });
    expect(['too_large', 'invalid_output', undefined]).toContain(
      (await toolbox.call('typed', {}, { full: true })).error?.code,
    );
    expect((await wield(workspace, ['call', 'op'])).status).toBe(0);
  });

  spec('OAS-5', 'A58: a response of any type is limited as a whole', async () => {
    const server = await listen((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      // It ends, so that a client without a limit ends too.
      let left = 100;
      const more = (): void => {
        while (!response.destroyed && left-- > 0 && response.write('data: x\n\n'.repeat(8192)));
        if (left < 0) response.end();
      };
      response.on('drain', more);
      more();
    });
    const workspace = createWorkspace();
    workspace.config('[limits]\noutput = "256K"\n');
    put(workspace, server.origin, { '/a': { get: { operationId: 'op' } } });
    const { error } = await workspace.toolbox().call('op', {});
    expect(error?.message).toContain('more than 256 KiB');
  });
});

describe('a document', () => {
  spec.thorough('OAS-7', 'that writes the same schemas again and again is limited', async () => {
    const workspace = createWorkspace();
    const lines = (count: number, line: (at: number) => string): string =>
      Array.from({ length: count }, (_, at) => line(at)).join('\n');
    workspace.write(
      '.agents/tools/alias.openapi.yaml',
      `openapi: 3.0.3
servers: [{ url: "https://a.example" }]
x-a: &a { type: object, properties: { ${lines(2000, (at) => `k${at}: {},`).replaceAll('\n', ' ')} } }
paths:
${lines(400, (at) => `  /p${at}: { get: { operationId: a${at}, parameters: [{ name: q, in: query, schema: *a }] } }`)}
`,
    );
    put(
      workspace,
      'https://a.example',
      Object.fromEntries(Array.from({ length: 1500 }, (_, at) => [`/p${at}`, { get: { operationId: 'same' } }])),
    );
    workspace.write(
      '.agents/tools/near.openapi.json',
      JSON.stringify({
        openapi: '3.1.0',
        servers: [{ url: 'https://a.example' }],
        paths: {
          '/a': {
            get: { operationId: 'near', parameters: [{ name: 'q', in: 'query', schema: { default: { $ref: 'x' } } }] },
          },
        },
      }),
    );
    const { tools, problems } = json(await wield(workspace, ['list', '--json']));
    const names = tools.map(({ name }: { name: string }) => name);
    expect(names).toContain('near');
    expect(names.filter((name: string) => /same/.test(name)).length).toBeLessThan(1100);
    const texts = JSON.stringify(problems);
    expect(texts).toContain('too many values');
    expect(texts).toContain('has the same name as 1000 others');
  });

  spec('OAS-9', 'A54: of another machine names no server that is nearer', async () => {
    const workspace = createWorkspace();
    const servers = [{ url: 'http://169.254.169.254/latest' }];
    const paths = { '/a': { get: { operationId: 'one' } }, '/b': { get: { operationId: 'two', servers } } };
    const text = JSON.stringify({ openapi: '3.1.0', servers: [{ url: 'https://a.example' }], paths });
    const server = await listen((_, response) => response.end(text));
    const refused = await wield(workspace, ['add', '--yes', `${server.origin}/x.json`]);
    expect(refused.stderr).toContain(
      'names the server http://169.254.169.254/latest, which is a cloud metadata address',
    );
    // Nobody calls that address, so a file that names it is refused as well; what is near is the user's own choice.
    workspace.write('x.json', text);
    for (const args of [
      ['add', '--yes', 'x.json'],
      ['new', 'x', '--openapi', 'x.json'],
    ]) {
      const { status, stderr } = await wield(workspace, args);
      expect([status, stderr]).toEqual([2, expect.stringContaining('which is a cloud metadata address')]);
    }
    for (const directory of [workspace.home, workspace.dir]) expect(existsSync(join(directory, '.agents'))).toBe(false);
    workspace.write('x.json', text.replace('169.254.169.254', '127.0.0.1:9'));
    const added = await wield(workspace, ['add', '--yes', 'x.json']);
    expect(added.stdout).toContain('at https://a.example, http://127.0.0.1:9/latest');
  });
});
