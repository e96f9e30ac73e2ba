// Files of servers: what is read, what is refused, and that one bad entry costs no other.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { spec } from '../../../test/support/spec.js';
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
  spec('UPS-1', 'both kinds are read whole, references as they stand', () => {
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
        place: { file: '/w/.mcp.json', pointer: '/mcpServers/files', line: null },
        command: 'npx',
        args: ['-y', '@x/server', '${HOME}/data'],
        env: { API_KEY: '${KEY}' },
        cwd: 'sub',
      },
      {
        kind: 'http',
        name: 'remote',
        owner: 'workspace',
        place: { file: '/w/.mcp.json', pointer: '/mcpServers/remote', line: null },
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

  test('the table may be called "servers", and what only other clients know is told', () => {
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

  test('disabled and enabled say the same, and must not contradict each other', () => {
    const { entries } = read({
      a: { command: 'x', disabled: true },
      b: { command: 'x', enabled: false },
      c: { command: 'x', disabled: false },
    });
    expect(entries.map(({ disabled }) => disabled)).toEqual([true, true, undefined]);
    expect(faultsOf({ command: 'x', disabled: true, enabled: true })[0]).toMatchObject({ severity: 'error' });
  });
});

describe('what is wrong', () => {
  const cases: [string, unknown, string, RegExp][] = [
    ['no object', 5, '/mcpServers/s', /must be an object/],
    ['both kinds', { command: 'x', url: 'https://x' }, '/mcpServers/s', /both "command" and "url"/],
    ['neither kind', {}, '/mcpServers/s', /no "command" or "url"/],
    ['the older transport', { type: 'sse', url: 'https://x' }, '/mcpServers/s/type', /deprecated/],
    ['another transport', { type: 'ws', url: 'https://x' }, '/mcpServers/s/type', /"stdio" or "http"/],
    ['a type without its field', { type: 'http', command: 'x' }, '/mcpServers/s', /no "url"/],
    ['a command that is no text', { command: ['x'] }, '/mcpServers/s/command', /must be text/],
    ['an empty command', { command: ' ' }, '/mcpServers/s/command', /is empty/],
    ['args that are text', { command: 'x', args: '-y' }, '/mcpServers/s/args', /array of text/],
    ['a number among args', { command: 'x', args: ['a', 1] }, '/mcpServers/s/args/1', /must be text/],
    ['a number in env', { command: 'x', env: { PORT: 80 } }, '/mcpServers/s/env/PORT', /must be text/],
    ['a name of no variable', { command: 'x', env: { 'A=B': 'c' } }, '/mcpServers/s/env/A=B', /no name/],
    ['a NUL', { command: 'x\u0000' }, '/mcpServers/s/command', /NUL/],
    ['an address of no web server', { url: 'ftp://x' }, '/mcpServers/s/url', /https:\/\//],
    [
      'a header that is none',
      { url: 'https://x', headers: { 'a b': 'c' } },
      '/mcpServers/s/headers/a b',
      /no name/,
    ],
    [
      'a line break in a header',
      { url: 'https://x', headers: { a: 'b\nc' } },
      '/mcpServers/s/headers/a',
      /control/,
    ],
    [
      'a field of oauth',
      { url: 'https://x', oauth: { clientId: 'a', b: 'c' } },
      '/mcpServers/s/oauth/b',
      /no field/,
    ],
    ['oauth without its client', { url: 'https://x', oauth: {} }, '/mcpServers/s/oauth', /no "clientId"/],
    ['selectors that are none', { command: 'x', allow: 'a(' }, '/mcpServers/s/allow', /cannot be read/],
    ['rules among selectors', { command: 'x', deny: ['a($deny)'] }, '/mcpServers/s/deny', /belong to rules/],
    ['a duration that is none', { command: 'x', timeout: 'soon' }, '/mcpServers/s/timeout', /duration/],
    [
      'a file of variables',
      { command: 'x', envFile: '.env' },
      '/mcpServers/s/envFile',
      /whatever that file holds/,
    ],
    [
      'a reference that is not closed',
      { command: 'x', args: ['${A'] },
      '/mcpServers/s/args/0',
      /nothing closes/,
    ],
    ['a reference that is none', { command: 'x', args: ['${A B}'] }, '/mcpServers/s/args/0', /no reference/],
    [
      'a question to a person',
      { command: 'x', env: { A: '${input:k}' } },
      '/mcpServers/s/env/A',
      /nobody is asked/,
    ],
    [
      'a secret in the list of processes',
      { command: 'x', args: ['${API_KEY}'] },
      '/mcpServers/s/args/0',
      /API_KEY/,
    ],
    [
      'a file in the list of processes',
      { command: 'x', args: ['file:~/k'] },
      '/mcpServers/s/args/0',
      /lists processes/,
    ],
  ];
  for (const [title, entry, pointer, message] of cases) {
    test(`UPS-1: ${title} is an error at its place, and the other server stays`, () => {
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

  test('an unknown field is a warning that names what is near', () => {
    expect(faultsOf({ command: 'x', comand: 'y', zzz: 1 })).toMatchObject([
      { severity: 'warning', pointer: '/mcpServers/s/comand', hint: 'did you mean "command"?' },
      { severity: 'warning', pointer: '/mcpServers/s/zzz' },
    ]);
  });

  test('an empty name, a file that is no object, a key that stands twice', () => {
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

  spec('UPS-5', 'a file that does not parse is told by its line, and nothing of it is quoted', () => {
    const text = `{"mcpServers": {\n"a": {"env": {"TOKEN": "${secret}" "X"`;
    const { problems } = readServers(text, FILE);
    expect(problems).toMatchObject([{ message: expect.stringMatching(/^is not valid JSON/) }]);
    expect(JSON.stringify(problems)).not.toContain(secret);
  });

  spec('UPS-5', 'a secret that stands in a file is a warning, which tells of the checkout in one', () => {
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

  spec('UPS-5', 'no value of any entry stands in a problem', () => {
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
        // A selector is no secret, and its fault must be shown.
        const { problems } = read({ s: { ...entry, allow: undefined } });
        expect(JSON.stringify(problems)).not.toContain('zq81736');
      }),
    );
  });
});
