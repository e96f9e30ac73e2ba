// Common policies, each with calls that it allows and refuses.

import { describe, expect } from 'vitest';
import type { Json } from '../../../src/core/json.js';
import { list, outcome, ruled, tool, trust } from '../../support/ruled.js';
import { spec } from '../../support/spec.js';

describe('common policies', () => {
  const tools = [
    tool('custom-tool'),
    tool('other-tool'),
    tool('wipe', { tags: ['destructive'] }),
    tool('shred', { destructive: true }),
    tool('context-manager'),
    tool('file-read'),
    tool('file-write'),
    tool('agent'),
    tool('callback-1a2b3c4d'),
    tool('forged', { tags: ['meta-internal'] }),
  ];
  type Case = readonly [string, readonly (readonly [string, Json, string])[]];
  const cases: readonly Case[] = [
    [
      list('#meta-internal custom-tool'),
      [
        ['workdir', {}, 'allow'],
        ['custom-tool', {}, 'allow'],
        ['other-tool', {}, 'deny'],
        ['forged', {}, 'deny'],
      ],
    ],
    [
      list('* #destructive($deny)'),
      [
        ['other-tool', {}, 'allow'],
        ['wipe', {}, 'deny'],
        ['shred', {}, 'deny'],
      ],
    ],
    [
      list('* context-manager(op={finish,fail},$deny)'),
      [
        ['context-manager', { op: 'finish' }, 'deny'],
        ['context-manager', { op: 'fail' }, 'deny'],
        ['context-manager', { op: 'fork' }, 'allow'],
        ['context-manager', {}, 'allow'],
        ['wipe', { op: 'finish' }, 'allow'],
      ],
    ],
    [
      list('file-read agent(allowedTools=file-read)'),
      [
        ['file-read', {}, 'allow'],
        ['file-write', {}, 'deny'],
        ['agent', { allowedTools: 'file-read' }, 'allow'],
        ['agent', { allowedTools: 'file-read file-write' }, 'deny'],
        ['agent', {}, 'deny'],
      ],
    ],
    [
      list('file-read callback-*'),
      [
        ['callback-1a2b3c4d', {}, 'allow'],
        ['file-read', {}, 'allow'],
        ['agent', {}, 'deny'],
      ],
    ],
    [
      trust('#meta-internal($policy=allow) *'),
      [
        ['workdir', {}, 'allow'],
        ['custom-tool', {}, 'ask'],
        ['forged', {}, 'ask'],
      ],
    ],
  ];
  for (const [user, calls] of cases) {
    spec('POL-2 POL-3 POL-4 POL-5', `decide: ${user.trim().replace('\n', ' ')}`, async () => {
      const toolbox = ruled({ user }, tools);
      for (const [name, input, expected] of calls)
        expect([name, input, await outcome(toolbox, name, input)]).toEqual([name, input, expected]);
    });
  }
});
