// Tests of parsing server files.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { finding, spec } from '../../../test/support/spec.js';
import { readServers } from './file.js';

const FILE = { file: '/w/.mcp.json', owner: 'workspace' } as const;
const read = (servers: unknown) => readServers(JSON.stringify({ mcpServers: servers }), FILE);
const faultsOf = (entry: unknown) =>
  read({ s: entry }).problems.map(({ severity, pointer, message, hint }) => ({
    severity,
    pointer,
    message,
    hint,
  }));

describe('entries', () => {
  spec('UPS-1', 'parses stdio and http servers without expanding references', () => {
    const { entries, problems } = read({
      files: {
        command: 'npx',
        args: ['-y', '@x/server', '${HOME}/data'],
        env: { API_KEY: '${KEY}' },
        cwd: 'sub',
      },
      remote: {
        type: 'streamable-http',
        url: 'https://x.example/mcp?key=${KEY}',
        headers: { Authorization: 'Bearer ${TOKEN:-}' },
        oauth: { clientId: 'abc', clientSecret: 'file:~/secret', scope: 'read' },
        allow: 'get_* list_*',
        deny: ['get_secret'],
        timeout: '90s',
        startTimeout: 5,
      },
    });
    expect(problems).toEqual([]);
    expect(entries).toEqual([
      {
        kind: 'stdio',
        name: 'files',
        owner: 'workspace',
        position: { file: '/w/.mcp.json', pointer: '/mcpServers/files', line: null },
        command: 'npx',
        args: ['-y', '@x/server', '${HOME}/data'],
        env: { API_KEY: '${KEY}' },
        cwd: 'sub',
      },
      {
        kind: 'http',
        name: 'remote',
        owner: 'workspace',
        position: { file: '/w/.mcp.json', pointer: '/mcpServers/remote', line: null },
        url: 'https://x.example/mcp?key=${KEY}',
        headers: { Authorization: 'Bearer ${TOKEN:-}' },
        oauth: { clientId: 'abc', clientSecret: 'file:~/secret', scope: 'read' },
        allow: ['get_* list_*'],
        deny: ['get_secret'],
        timeoutMs: 90_000,
        startTimeoutMs: 5000,
      },
    ]);
  });

  test('accepts "servers" as the table and warns about fields of other clients', () => {
    const text = '\ufeff{"servers":{"a":{"command":"x","autoApprove":["y"],"gallery":true}},"inputs":[]}';
    const { entries, problems } = readServers(text, FILE);
    expect(entries.map(({ name }) => name)).toEqual(['a']);
    expect(problems.map(({ severity, pointer }) => `${severity} ${pointer}`)).toEqual([
      'warning /inputs',
      'warning /servers/a/autoApprove',
      'warning /servers/a/gallery',
    ]);
    expect(problems[1]!.hint).toContain('trust.rules');
  });

  test('accepts disabled or enabled and rejects contradictions', () => {
    const { entries } = read({
      a: { command: 'x', disabled: true },
      b: { command: 'x', enabled: false },
      c: { command: 'x', disabled: false },
    });
    expect(entries.map(({ disabled }) => disabled)).toEqual([true, true, undefined]);
    expect(faultsOf({ command: 'x', disabled: true, enabled: true })[0]).toMatchObject({ severity: 'error' });
  });
});

const boxed = (sandbox: unknown): unknown => ({ command: 'x', sandboxEnabled: true, sandbox });
const sandboxCases: [string, unknown, string, RegExp][] = [
  ['a sandbox that is a number', boxed(1), '/mcpServers/s/sandbox', /name of a profile, or an object/],
  [
    'a sandbox that is enabled by a text',
    { command: 'x', sandboxEnabled: 'yes' },
    '/mcpServers/s/sandboxEnabled',
    /true/,
  ],
  ['files of a sandbox that are an array', boxed({ filesystem: ['a'] }), '/mcpServers/s/sandbox/filesystem', /object/],
  [
    'a hidden path that is a text',
    boxed({ filesystem: { denyRead: 'a' } }),
    '/mcpServers/s/sandbox/filesystem/denyRead',
    /array/,
  ],
  [
    'a pattern of hidden paths',
    boxed({ filesystem: { denyRead: ['a/*.key'] } }),
    '/mcpServers/s/sandbox/filesystem/denyRead',
    /patterns/,
  ],
  [
    'a misspelled restriction',
    boxed({ filesystem: { denyReads: [] } }),
    '/mcpServers/s/sandbox/filesystem/denyReads',
    /unknown/,
  ],
];

describe('invalid entries', () => {
  const cases: [string, unknown, string, RegExp][] = [
    ['a number', 5, '/mcpServers/s', /must be an object/],
    ['both kinds', { command: 'x', url: 'https://x' }, '/mcpServers/s', /both "command" and "url"/],
    ['neither kind', {}, '/mcpServers/s', /no "command" or "url"/],
    ['an unknown transport', { type: 'ws', url: 'https://x' }, '/mcpServers/s/type', /"stdio", "http" or "sse"/],
    ['a type without its field', { type: 'http', command: 'x' }, '/mcpServers/s', /no "url"/],
    ['a command that is an array', { command: ['x'] }, '/mcpServers/s/command', /must be a string/],
    ['an empty command', { command: ' ' }, '/mcpServers/s/command', /is empty/],
    ['args that are a string', { command: 'x', args: '-y' }, '/mcpServers/s/args', /array of strings/],
    ['a number among args', { command: 'x', args: ['a', 1] }, '/mcpServers/s/args/1', /must be a string/],
    ['a number in env', { command: 'x', env: { PORT: 80 } }, '/mcpServers/s/env/PORT', /must be a string/],
    ['an invalid variable name', { command: 'x', env: { 'A=B': 'c' } }, '/mcpServers/s/env/A=B', /variable name/],
    ['a NUL', { command: 'x\u0000' }, '/mcpServers/s/command', /NUL/],
    ['an FTP URL', { url: 'ftp://x' }, '/mcpServers/s/url', /https:\/\//],
    [
      'an invalid header name',
      { url: 'https://x', headers: { 'a b': 'c' } },
      '/mcpServers/s/headers/a b',
      /header name/,
    ],
    ['a line break in a header', { url: 'https://x', headers: { a: 'b\nc' } }, '/mcpServers/s/headers/a', /control/],
    [
      'an unknown field of oauth',
      { url: 'https://x', oauth: { clientId: 'a', b: 'c' } },
      '/mcpServers/s/oauth/b',
      /unknown key/,
    ],
    ['oauth without a client id', { url: 'https://x', oauth: {} }, '/mcpServers/s/oauth/clientId', /is missing/],
    ['an invalid selector', { command: 'x', allow: 'a(' }, '/mcpServers/s/allow', /not a valid selector/],
    ['rules among selectors', { command: 'x', deny: ['a($deny)'] }, '/mcpServers/s/deny', /for rules only/],
    ['an invalid duration', { command: 'x', timeout: 'soon' }, '/mcpServers/s/timeout', /duration/],
    ['an env file', { command: 'x', envFile: '.env' }, '/mcpServers/s/envFile', /every variable of that file/],
    ['an unclosed reference', { command: 'x', args: ['${A'] }, '/mcpServers/s/args/0', /unclosed/],
    ['an invalid reference', { command: 'x', args: ['${A B}'] }, '/mcpServers/s/args/0', /invalid reference/],
    ['an input reference', { command: 'x', env: { A: '${input:k}' } }, '/mcpServers/s/env/A', /not supported/],
    ['a secret in the process list', { command: 'x', args: ['${API_KEY}'] }, '/mcpServers/s/args/0', /API_KEY/],
    ['a file in the process list', { command: 'x', args: ['file:~/k'] }, '/mcpServers/s/args/0', /process list/],
    ...sandboxCases,
  ];
  for (const [title, entry, pointer, message] of cases) {
    test(`UPS-1: rejects ${title} and keeps the other servers`, () => {
      const { entries, problems } = read({ s: entry, other: { command: 'y' } });
      expect(entries.map(({ name }) => name)).toEqual(['other']);
      expect(problems).toContainEqual({
        severity: 'error',
        path: '/w/.mcp.json',
        pointer,
        message: expect.stringMatching(message),
        hint: expect.stringMatching(/\w/),
      });
    });
  }

  spec('EXE-10', 'the sandbox of a file is that of its servers with sandboxEnabled', () => {
    const sandbox = { filesystem: { denyRead: ['${userHome}/private/**'] } };
    const servers = { a: { command: 'x', sandboxEnabled: true }, b: { command: 'x' } };
    const { entries, problems } = readServers(JSON.stringify({ servers, sandbox }), FILE);
    const table = { write: ['.'], deny: ['~/private'], network: false };
    expect(entries.map((entry) => entry.sandbox)).toEqual([{ profile: 'workdir', required: true, table }, undefined]);
    expect(problems).toEqual([]);
    expect(faultsOf({ command: 'x', sandbox })).toMatchObject([
      { severity: 'warning', pointer: '/mcpServers/s/sandbox' },
    ]);
  });

  test('warns about an unknown field with a suggestion', () => {
    expect(faultsOf({ command: 'x', comand: 'y', zzz: 1 })).toMatchObject([
      { severity: 'warning', pointer: '/mcpServers/s/comand', hint: 'did you mean "command"?' },
      { severity: 'warning', pointer: '/mcpServers/s/zzz' },
    ]);
  });

  finding('B26 POL-9', 'an entry with an unknown field that may restrict it is not used', () => {
    const fields = { denny: '*', Deny: '*', disable: true, allow_: 'x', 'allowed-tools': ['x'], sandboxEnable: true };
    const foreign = { tools: ['x'], includeTools: ['x'], excludeTools: ['x'], disabled_tools: ['x'] };
    for (const [key, value] of Object.entries({ ...fields, ...foreign })) {
      const { entries, problems } = read({ s: { command: 'x', [key]: value } });
      expect([key, entries.length, problems.map(({ severity }) => severity)]).toEqual([key, 0, ['error']]);
      expect(problems[0]!.message).toContain('which is not used');
    }
    for (const [key, value] of Object.entries({ tools: ['*'], excludeTools: [], alwaysAllow: ['x'], zzz: 1 }))
      expect([key, read({ s: { command: 'x', [key]: value } }).entries.length]).toEqual([key, 1]);
  });

  test('rejects an empty name, a file that is not an object, and duplicate keys', () => {
    expect(read({ '': { command: 'x' } }).problems[0]!.pointer).toBe('/mcpServers/');
    expect(readServers('[]', FILE).problems).toMatchObject([{ severity: 'error', pointer: '' }]);
    const twice = readServers('{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}', FILE);
    expect(twice).toMatchObject({
      entries: [],
      problems: [{ message: expect.stringContaining('"a" twice') }],
    });
  });
});

describe('secrets', () => {
  const secret = 'k9-Vt82hQ_pLr5';

  spec('UPS-5', 'a syntax error quotes nothing of the file', () => {
    const text = `{"mcpServers": {\n"a": {"env": {"TOKEN": "${secret}" "X"`;
    const { problems } = readServers(text, FILE);
    expect(problems).toMatchObject([{ message: expect.stringMatching(/^is not valid JSON/) }]);
    expect(JSON.stringify(problems)).not.toContain(secret);
  });

  spec('UPS-5', 'warns about a secret in plain text, and that a checkout shares it', () => {
    const servers = {
      a: {
        command: 'x',
        env: { API_KEY: secret, MODE: 'fast', KEY_FILE: '/etc/x.pem' },
        args: ['--token', secret],
      },
      b: {
        url: `https://u:${secret}@x.example/mcp?api_key=${secret}`,
        headers: { 'X-Api-Key': secret, A: '${B}' },
      },
    };
    const { entries, problems } = read(servers);
    expect(entries).toHaveLength(2);
    expect(problems.map(({ severity, pointer }) => `${severity} ${pointer}`)).toEqual([
      'warning /mcpServers/a/args/1',
      'warning /mcpServers/a/env/API_KEY',
      'warning /mcpServers/b/url',
      'warning /mcpServers/b/headers/X-Api-Key',
    ]);
    expect(problems[0]!.message).toContain('checkout');
    expect(JSON.stringify(problems)).not.toContain(secret);
    const own = readServers(JSON.stringify({ mcpServers: servers }), { file: '/h/mcp.json', owner: 'user' });
    expect(own.problems[0]!.message).not.toContain('checkout');
  });

  spec('UPS-5', 'problems never contain values of entries', () => {
    const marked = fc.string({ maxLength: 12 }).map((text) => `zq${text}zq81736`);
    const value = fc.oneof(
      marked,
      fc.integer(),
      fc.constant(null),
      fc.array(marked),
      fc.dictionary(fc.constantFrom('A', 'TOKEN'), marked),
    );
    const field = fc.constantFrom(
      'command',
      'args',
      'env',
      'url',
      'headers',
      'oauth',
      'cwd',
      'allow',
      'type',
      'timeout',
    );
    fc.assert(
      fc.property(fc.dictionary(field, value), (entry) => {
        // Selectors are not secrets and are quoted.
        const { problems } = read({ s: { ...entry, allow: undefined } });
        expect(JSON.stringify(problems)).not.toContain('zq81736');
      }),
    );
  });
});
