// Tests of reference expansion.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { spec } from '../../../test/support/spec.js';
import { isToolError, type ToolError } from '../../core/error.js';
import type { HttpServer, ServerEntry, StdioServer } from '../../core/upstream.js';
import { type ExpandOptions, expandServer } from './expand.js';

const BASE = {
  name: 's',
  owner: 'user',
  position: { file: '/w/.mcp.json', pointer: '/mcpServers/s', line: null },
} as const;
const OPTIONS: ExpandOptions = { env: {}, home: '/home/ada', workdir: '/w', trusted: true, secretOf: () => '' };

const stdio = (fields: Partial<StdioServer>): StdioServer => ({
  ...BASE,
  kind: 'stdio',
  command: 'x',
  args: [],
  env: {},
  ...fields,
});
const http = (fields: Partial<HttpServer>): HttpServer => ({
  ...BASE,
  kind: 'http',
  url: 'https://x.example/mcp',
  headers: {},
  ...fields,
});
const expandValue = (text: string, env: ExpandOptions['env'] = {}): string | undefined => {
  const { server } = expandServer(stdio({ env: { V: text } }), { ...OPTIONS, env });
  return server.kind === 'stdio' ? server.env.V : undefined;
};

function faultOf(entry: ServerEntry, options: Partial<ExpandOptions> = {}): ToolError {
  try {
    expandServer(entry, { ...OPTIONS, ...options });
  } catch (error) {
    if (isToolError(error)) return error;
    throw error;
  }
  throw new Error('nothing was wrong');
}

describe('references', () => {
  spec('UPS-1', 'variables, defaults, directories and escapes', () => {
    const env = { A: 'one', EMPTY: '' };
    expect(expandValue('<${A}|${env:A}|${EMPTY}>', env)).toBe('<one|one|>');
    expect(expandValue('${NO:-two}${EMPTY:-three}${A:-four}', env)).toBe('twothreeone');
    expect(expandValue('${NO:-${A}/x}', env)).toBe('one/x');
    expect(expandValue('${workspaceFolder} ${userHome}')).toBe('/w /home/ada');
    expect(expandValue('$${A} $A $$ $', env)).toBe('${A} $A $$ $');
    expect(expandValue('file:///etc/hosts')).toBe('file:///etc/hosts');
    expect(expandValue('${X:-}file:./dev.db')).toBe('file:./dev.db');
  });

  spec('UPS-1', 'an unset variable is an error with its name, the server and the file', () => {
    const error = faultOf(stdio({ name: 'git\u001b[31mhub', env: { T: 'Bearer ${NO_SUCH}' } }));
    expect(error.code).toBe('unavailable');
    expect(error.message).toBe('server github needs the variable NO_SUCH, which is not set (/w/.mcp.json)');
    expect(error.hint).toContain('NO_SUCH');
    expect(faultOf(stdio({ env: { T: '${toString}' } })).message).toContain('toString');
  });

  spec('POL-20', 'expands nothing of an untrusted workspace', () => {
    const entry = stdio({ owner: 'workspace', env: { A: '${A}', B: 'file:/no/such/file' } });
    const error = faultOf(entry, { trusted: false, env: { A: 'x' } });
    expect(error.code).toBe('needs_trust');
    expect(error.hint).toBe('wield trust /w');
  });

  test('resolves the working directory and relative commands', () => {
    const position = (fields: Partial<StdioServer>) => {
      const { server } = expandServer(stdio(fields), { ...OPTIONS, env: { D: 'sub' } });
      return server.kind === 'stdio' ? [server.command, server.cwd] : [];
    };
    expect(position({})).toEqual(['x', '/w']);
    expect(position({ command: './run', cwd: '${D}' })).toEqual(['/w/sub/run', '/w/sub']);
    expect(position({ command: '~/bin/run', cwd: '~/d' })).toEqual(['/home/ada/bin/run', '/home/ada/d']);
  });

  spec('UPS-5', 'rejects secrets in the process list', () => {
    for (const fields of [{ args: ['${X:-${API_TOKEN}}'] }, { command: 'file:~/x' }, { cwd: '${file:./x}' }])
      expect(faultOf(stdio(fields), { env: { API_TOKEN: 'abc' } }).code).toBe('invalid_definition');
    const socket = expandServer(stdio({ args: ['${SSH_AUTH_SOCK}'] }), {
      ...OPTIONS,
      env: { SSH_AUTH_SOCK: '/run/s' },
    });
    expect(socket.server).toMatchObject({ args: ['/run/s'] });
  });

  test('rejects characters that would break out of a value', () => {
    const env = { A: 'one\r\nX: two', N: 'a\u0000b', U: 'snow\u2603' };
    for (const entry of [
      http({ headers: { A: '${A}' } }),
      http({ headers: { A: '${U}' } }),
      http({ url: 'https://x/${A}' }),
      http({ url: '${NO:-ftp}://x' }),
      stdio({ env: { A: '${N}' } }),
      stdio({ command: '${NO:-}' }),
    ]) {
      const error = faultOf(entry, { env });
      expect(error.code).toBe('invalid_definition');
      expect(error.message).not.toMatch(/two|a.b|snow/);
    }
  });
});

describe('files', () => {
  const createFiles = () => {
    const root = mkdtempSync(join(tmpdir(), 'wield-refs-'));
    onTestFinished(() => rmSync(root, { recursive: true }));
    mkdirSync(join(root, 'home'));
    const options = { ...OPTIONS, home: join(root, 'home'), workdir: root };
    const position = { ...BASE.position, file: join(root, 'conf', '.mcp.json') };
    mkdirSync(join(root, 'conf'));
    return { root, options, position };
  };

  spec('UPS-5', 'reads a value or part of one from a file, without the final line break', () => {
    const { root, options, position } = createFiles();
    writeFileSync(join(root, 'abs'), 'absolute-1\r\n');
    writeFileSync(join(root, 'home/own'), 'of-home-2\n\n');
    writeFileSync(join(root, 'conf/near'), '${A} stays');
    const { server, secrets } = expandServer(
      stdio({ position, env: { A: `file:${root}/abs`, B: 'file:~/own', C: '<${file:./near}>' } }),
      { ...options, env: { A: 'never' } },
    );
    expect(server).toMatchObject({ env: { A: 'absolute-1', B: 'of-home-2\n', C: '<${A} stays>' } });
    expect(secrets).toEqual(expect.arrayContaining(['absolute-1', 'of-home-2', '${A} stays']));
  });

  spec('UPS-5', 'rejects a missing file, a directory, a pipe, a large and a binary file without quoting them', () => {
    const { root, options, position } = createFiles();
    writeFileSync(join(root, 'large'), 'q'.repeat(64 * 1024 + 1));
    writeFileSync(join(root, 'bytes'), Buffer.from([0xff, 0xfe, 0x71, 0x71]));
    execFileSync('mkfifo', [join(root, 'pipe')]);
    for (const [name, why] of [
      ['missing', 'does not exist'],
      ['home', 'is not a file'],
      ['pipe', 'is not a file'],
      ['large', 'is larger than 64 KiB'],
      ['bytes', 'is not UTF-8 text'],
    ]) {
      const error = faultOf(stdio({ position, env: { A: `file:${root}/${name}` } }), options);
      expect(error.code).toBe('unavailable');
      expect(error.message).toContain(`${root}/${name}, which ${why}`);
      expect(error.message).not.toContain('qq');
    }
  });
});

describe('secrets', () => {
  const collect = (entry: ServerEntry, env: ExpandOptions['env'] = {}): readonly string[] =>
    expandServer(entry, { ...OPTIONS, env }).secrets;

  spec('UPS-5', 'values from references and with secret names are secrets, plain values are not', () => {
    const env = {
      GH: 'ghvalue-19x',
      MODE: 'production',
      PORT: '8080',
      DIR: '/srv/data',
      PIN: '4711',
      ON: 'true',
    };
    const entry = stdio({
      env: {
        A: 'x ${GH}',
        B: '${MODE}',
        C: '${PORT}',
        D: '${DIR}',
        E: '${PIN}',
        F: '${ON}',
        PASSWORD: 'hunter',
        G: 'plain-17-text',
      },
      args: ['--api-key', 'literal-88', '--secret=other-99', '--root', '${DIR}'],
    });
    expect([...collect(entry, env)].sort()).toEqual(
      ['ghvalue-19x', 'x ghvalue-19x', '4711', 'hunter', 'literal-88', 'other-99'].sort(),
    );
  });

  spec('UPS-5', 'finds credentials in headers and URLs', () => {
    const basic = Buffer.from('ada:pa55word').toString('base64');
    const entry = http({
      url: 'https://ada:p%40ss1@x.example/s/Zm9vYmFyMTIzNDU2Nzg5MDEy/mcp?key=querykey1&mode=fast&id=${ID}',
      headers: { Authorization: 'Bearer ${TOKEN}', 'Proxy-Authorization': `Basic ${basic}`, 'X-Org': 'acme' },
      oauth: { clientId: 'public-id-1', clientSecret: 'client-secret-1' },
    });
    const secrets = collect(entry, { TOKEN: 'tok-123', ID: 'abc9def8' });
    expect(secrets).toEqual(
      expect.arrayContaining([
        'tok-123',
        'Bearer tok-123',
        basic,
        'pa55word',
        'p@ss1',
        'p%40ss1',
        'querykey1',
        'abc9def8',
        'Zm9vYmFyMTIzNDU2Nzg5MDEy',
        'client-secret-1',
      ]),
    );
    expect(secrets).not.toEqual(expect.arrayContaining(['public-id-1']));
    for (const plain of ['fast', 'acme', 'public-id-1']) expect(secrets).not.toContain(plain);
  });
});

describe('any value', () => {
  const piece = fc.oneof(
    fc.constantFrom('${A}', '${B:-x}', '${NO:-${A}}', '$${A}', '$', '{', '}', '${', 'file:/', '${workspaceFolder}'),
    fc.string({ maxLength: 6 }),
  );
  const text = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));
  const secret = fc.string({ maxLength: 20 }).map((rest) => `zq51837${rest}`);

  spec('UPS-1', 'the value of a variable is never expanded again', () => {
    fc.assert(
      fc.property(text, text, (before, value) => {
        const literal = `|${before.replaceAll('$', '')}`.replaceAll('\u0000', '');
        const held = value.replaceAll('\u0000', '');
        expect(expandValue(`${literal}\${A}`, { A: held, B: 'never' })).toBe(literal + held);
      }),
    );
  });

  spec('UPS-5', 'errors never contain values of variables or files', () => {
    const directory = mkdtempSync(join(tmpdir(), 'wield-expand-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const file = join(directory, 'secret');
    writeFileSync(file, 'zq51837\nwhich no header may contain');
    const held = fc.oneof(text, fc.constantFrom(`file:${file}`, `\${file:${file}}`));
    fc.assert(
      fc.property(held, held, held, secret, (a, b, c, value) => {
        const options = { env: { A: value, B: value } };
        for (const entry of [
          stdio({ command: a, args: [b], env: { X: c } }),
          http({ url: `https://x/${a}`, headers: { X: b }, oauth: { clientId: a, clientSecret: c } }),
        ]) {
          try {
            expandServer(entry, { ...OPTIONS, ...options });
          } catch (error) {
            expect(isToolError(error)).toBe(true);
            expect(JSON.stringify([error, (error as Error).cause])).not.toContain('zq51837');
          }
        }
      }),
    );
  });
});
