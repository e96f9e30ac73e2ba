// Tests of displaying servers without secrets.

import { describe, expect, test } from 'vitest';
import { spec } from '../../../test/support/spec.js';
import { isOpaque } from '../../core/redact.js';
import type { ServerEntry } from '../../core/upstream.js';
import { describeServer, isPlainValue } from './mask.js';

const BASE = { name: 's', owner: 'user', position: { file: '/f', pointer: '', line: null } } as const;
const started = (command: string, ...args: string[]): ServerEntry => ({
  ...BASE,
  kind: 'stdio',
  command,
  args,
  env: {},
});
const reached = (url: string): ServerEntry => ({ ...BASE, kind: 'http', url, headers: {} });

describe('describeServer', () => {
  spec('UPS-5', 'shows a command with arguments or a URL without its query, references as written', () => {
    const lines: [ServerEntry, string][] = [
      [started('npx', '-y', '@x/server', '--root', '.'), 'npx -y @x/server --root .'],
      [started('${BIN}', 'two words'), '${BIN} "two words"'],
      [
        started('x', '--api-key', 'abc', '--token=def', '-e', 'PASSWORD=ghi', '--header', 'Authorization: Bearer jkl'),
        'x --api-key [redacted] --token=[redacted] -e PASSWORD=[redacted] --header "Authorization: Bearer [redacted]"',
      ],
      [started('x', 'ghp_0123456789abcdefghij'), 'x [redacted]'],
      [
        started('mcp-remote', 'https://u:p@h.example/a?key=abc'),
        'mcp-remote https://[redacted]:[redacted]@h.example/a?key=[redacted]',
      ],
      [started('x\u001b[31m\ny'), '"x\\u001b[31m\\ny"'],
      [reached('https://u:p@h.example:8443/mcp?api_key=abc#x'), 'https://h.example:8443/mcp'],
      [reached('${BASE:-https://h.example}/mcp'), '${BASE:-https://h.example}/mcp'],
      [reached('${BASE:-https://h.example/?k=abc}'), '${BASE:-[redacted]}'],
      [reached('https://h.example/\ue0009\ue001'), 'https://h.example/9'],
      [reached('https://${HOST}/mcp?x=${KEY}'), 'https://${HOST}/mcp'],
      [reached('https://h.example/s/Zm9vYmFyMTIzNDU2Nzg5MDEy/mcp'), 'https://h.example/s/[redacted]/mcp'],
    ];
    for (const [entry, line] of lines) expect(describeServer(entry)).toBe(line);
  });
});

describe('values', () => {
  test('recognizes values that are clearly not secrets', () => {
    for (const plain of [
      'true',
      '8080',
      'debug',
      '/srv/data',
      '~/x.json',
      'production',
      'en-US',
      'a@b.example',
      'https://h.example/v1',
    ])
      expect([plain, isPlainValue(plain)]).toEqual([plain, true]);
    for (const secret of [
      '123456',
      'hunter2',
      'k9-Vt82',
      'https://u:p@h.example',
      'Zm9vYmFyMTIzNDU2Nzg5MDEy',
      '/Zm9vYmFyMTIzNDU2Nzg5MDEy',
    ])
      expect([secret, isPlainValue(secret)]).toEqual([secret, false]);
  });

  test('long words and paths are not tokens', () => {
    for (const text of ['modelcontextprotocol-server-filesystem', 'server-2024-11-05-stable', 'short1'])
      expect([text, isOpaque(text)]).toEqual([text, false]);
    expect(isOpaque('3f2b8c1e-9d4a-4c55-8b0e-1a2b3c4d5e6f')).toBe(true);
  });
});
