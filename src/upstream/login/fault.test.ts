// Tests of what errors of logins say: nothing hidden in the name of a server, and a command that can be pasted.

import { execFileSync } from 'node:child_process';
import { expect } from 'vitest';
import { spec } from '../../../test/support/spec.js';
import type { HttpServer } from '../../core/upstream.js';
import { lacksScope, loginCommand, needsLogin, readScope, toLoginFailure } from './fault.js';

const toServer = (name: string, oauth?: object) => ({ name, oauth, position: { file: 'mcp.json' } }) as HttpServer;
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u200b\u202e]/;

spec('ERR-5 UPS-22', 'hidden characters in the name of a server are in no error about its login', () => {
  const server = toServer('far\u001b[2K\u202e\u200b\nx');
  const errors = [
    needsLogin(server, 'it has no login'),
    lacksScope(server, 'read', 'write'),
    lacksScope(server, undefined, undefined),
    toLoginFailure(new Error('x'), server),
  ];
  const texts = [...errors.flatMap(({ message, hint = '' }) => [message, hint]), loginCommand(server, 'read')];
  expect(texts.filter((text) => HIDDEN.test(text))).toEqual([]);
  expect(needsLogin(toServer('n'.repeat(100)), 'why').message).toBe(`${'n'.repeat(59)}…: why`);
});

spec('UPS-22 UPS-80', 'the login command is one argument for a shell, whatever the name of the server is', () => {
  for (const name of ['far', 'a b', "it's", '$(id)', '`id`', '"', ';id', '-x y']) {
    const printed = execFileSync('/bin/sh', [
      '-c',
      `printf '%s\\n' ${loginCommand(toServer(name), 'a:b c').slice(16)}`,
    ]);
    expect(printed.toString()).toBe(`${name}\n--scope\na:b c\n`);
  }
});

spec('UPS-80', 'a scope with anything that a shell would read is not shown', () => {
  for (const scope of ['read', 'a:b/c.d,e@f+g*h-i', 'read write', 'x'.repeat(500)])
    expect(readScope(scope)).toBe(scope);
  for (const scope of ['', ' ', "'", '$(id)', 'a  b', 'a\nb', 'x'.repeat(501), 7, undefined])
    expect([scope, readScope(scope)]).toEqual([scope, undefined]);
  expect(lacksScope(toServer('far'), "x'; id", 'read').hint).toBe('wield mcp login far');
  expect(lacksScope(toServer('far'), 'write', 'read write').hint).toBe("wield mcp login far --scope 'read write'");
});
