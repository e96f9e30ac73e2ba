// Resolvers: scripts of the skill, allowlisted programs, and failures.

import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, vi } from 'vitest';
import type { DoorOptions } from '../../../src/core/toolbox.js';
import { textOf } from '../../../src/index.js';
import { createSkillWorkspace, declare, type SkillWorkspace } from '../../support/commands.js';
import { patience } from '../../support/patience.js';
import { until } from '../../support/server.js';
import { spec } from '../../support/spec.js';

const ALLOW = '[skills]\nallow-scripts = true\n';

/** A skill with one positional that a resolver fills, and the files given. */
function withResolver(
  resolveCommand: Record<string, unknown>,
  files: Record<string, string> = {},
  mapping: Record<string, unknown> = {},
): SkillWorkspace {
  const workspace = createSkillWorkspace();
  const descriptor = declare([{ param: 'a', resolveCommand, ...mapping }], {
    properties: { a: { type: ['string', 'array'] }, other: { type: 'string' } },
    allowlist: { args: [''], 'look-up': ['up', ''] },
  });
  workspace.skill('own', { 'tools.json': descriptor, ...files });
  return workspace;
}

describe('scripts', () => {
  const script = { script: 'find', args: ['$param', 'with $other'] };
  const files = { 'scripts/find.sh': 'printf "found %s %s\\n" "$1" "$2"\n' };
  const resolved = ['found x with y'];

  spec('TJS-16 TJS-18', 'are disabled by default: the value is unchanged, and the result notes it', async () => {
    const result = await withResolver(script, files).toolbox().call('run', { a: 'x', other: 'y' });
    expect(result.structured).toEqual(['x']);
    expect(result.meta.resolvers).toEqual([
      { param: 'a', outcome: 'kept', reason: 'scripts are disabled (skills.allow-scripts)' },
    ]);
  });

  spec('TJS-16', "run where the user's configuration says so, in either spelling", async () => {
    for (const config of [ALLOW, '[skills]\nallowScripts = true\n']) {
      const workspace = withResolver(script, files);
      workspace.config(config);
      const result = await workspace.toolbox().call('run', { a: 'x', other: 'y' });
      expect(result.structured).toEqual(resolved);
      expect(result.meta.resolvers).toBeUndefined();
    }
  });

  spec.thorough('TJS-16', "run by the project's configuration only where the workspace is trusted", async () => {
    const workspace = withResolver(script, files);
    workspace.write('.agents/config.toml', ALLOW);
    const call = (trust: boolean) => workspace.toolbox({ trust }).call('run', { a: 'x', other: 'y' });
    expect((await call(false)).structured).toEqual(['x']);
    expect((await call(true)).structured).toEqual(resolved);
    workspace.config('[skills]\nallow-scripts = false\n');
    expect((await call(true)).structured).toEqual(['x']);
    workspace.write('.agents/config.toml', '[skills]\nallowScripts = false\n');
    workspace.config(ALLOW);
    expect((await call(true)).structured).toEqual(['x']);
  });

  spec('TJS-16', "a project's word does not reach the skills of a person's home", async () => {
    const workspace = createSkillWorkspace();
    const own = join(workspace.home, '.agents/skills/own');
    mkdirSync(join(own, 'scripts'), { recursive: true });
    writeFileSync(join(own, 'tools.json'), JSON.stringify(declare([{ param: 'a', resolveCommand: script }])));
    writeFileSync(join(own, 'scripts/find.sh'), 'echo changed\n');
    workspace.write('.agents/config.toml', ALLOW);
    expect((await workspace.toolbox({ trust: true }).call('run', { a: 'x' })).structured).toEqual(['x']);
    workspace.config(ALLOW);
    expect((await workspace.toolbox().call('run', { a: 'x' })).structured).toEqual(['changed']);
  });

  spec('TJS-16', 'are found by exact name before .sh, and need not be executable', async () => {
    const workspace = withResolver(
      { script: 'find' },
      { 'scripts/find': 'echo exact\n', 'scripts/find.sh': 'echo sh\n' },
    );
    workspace.config(ALLOW);
    expect((await workspace.toolbox().call('run', { a: 'x' })).structured).toEqual(['exact']);
  });

  spec('TJS-16', 'are rejected at load if the name has separators', async () => {
    for (const name of ['../find', 'sub/find', '/bin/sh', '..', 'a..b', 'sub\\find', '.hidden', '-x', 'a b']) {
      const problems = await withResolver({ script: name }).toolbox().catalog.problems();
      expect(
        problems.map(({ pointer }) => pointer),
        name,
      ).toEqual(['/execution/0/args/0/resolveCommand/script']);
    }
  });

  spec('TJS-16', 'are rejected if they, or scripts/ itself, link outside', async () => {
    const workspace = withResolver({ script: 'find' });
    workspace.config(ALLOW);
    const skill = join(workspace.dir, '.agents/skills/own');
    const outside = join(workspace.home, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'find'), 'echo from outside\n');
    const call = () => workspace.toolbox().call('run', { a: 'x' });
    const isKept = {
      structured: ['x'],
      meta: { resolvers: [{ outcome: 'kept', reason: 'scripts/find is not a file of the skill' }] },
    };
    symlinkSync(outside, join(skill, 'scripts'));
    expect(await call()).toMatchObject(isKept);
    rmSync(join(skill, 'scripts'));
    mkdirSync(join(skill, 'scripts'));
    expect(await call()).toMatchObject(isKept);
    symlinkSync(join(outside, 'find'), join(skill, 'scripts/find'));
    expect(await call()).toMatchObject(isKept);
    symlinkSync('../tools.json', join(skill, 'scripts/find.sh'));
    expect(await call()).toMatchObject(isKept);
  });

  spec('TJS-16', 'do not run if changed after the plan', async () => {
    const workspace = withResolver({ script: 'find' }, { 'scripts/find': 'echo first\n' });
    workspace.config(ALLOW);
    const toolbox = workspace.toolbox();
    const before = (await toolbox.find('run')).origin.digest;
    const result = await toolbox.call('run', { a: 'x' }, {
      ready: async () => void workspace.write('.agents/skills/own/scripts/find', 'echo second\n'),
    } as DoorOptions);
    expect(result.error?.code).toBe('integrity');
    expect((await toolbox.find('run')).origin.digest).not.toBe(before);
    expect((await toolbox.call('run', { a: 'x' })).structured).toEqual(['second']);
  });
});

describe('programs', () => {
  const look = { binary: 'look-up', subcommand: 'up', args: ['$param', 'a$other', '$unknown'] };

  spec('TJS-17 TJS-18', 'run if allowlisted, with $param, $name and trimmed output', async () => {
    const workspace = withResolver(look);
    workspace.program('look-up', '#!/bin/sh\nprintf "\\n  "\nprintf "%s|" "$@"\nprintf " \\n\\n"\n');
    const result = await workspace.toolbox().call('run', { a: 'x y', other: 'z' });
    expect(result.structured).toEqual(['up|x y|az|$unknown|']);
    expect((await workspace.toolbox().call('run', { a: ['p', 'q'] })).structured).toEqual(['up|["p","q"]|a|$unknown|']);
  });

  spec('TJS-17', 'are checked at load, also beside a script, which wins if scripts are enabled', async () => {
    for (const more of [{}, { script: 'find' }]) {
      const refused = await withResolver({ ...more, binary: 'other' })
        .toolbox()
        .catalog.problems();
      expect(refused).toMatchObject([{ pointer: '/execution/0/args/0/resolveCommand/binary' }]);
      const unlisted = await withResolver({ ...more, binary: 'look-up', subcommand: 'down' })
        .toolbox()
        .catalog.problems();
      expect(unlisted).toMatchObject([{ pointer: '/execution/0/args/0/resolveCommand/subcommand' }]);
    }
    const both = withResolver({ ...look, script: 'find' }, { 'scripts/find': 'echo script\n' });
    both.program('look-up', '#!/bin/sh\necho binary\n');
    expect((await both.toolbox().call('run', { a: 'x' })).structured).toEqual(['binary']);
    both.config(ALLOW);
    expect((await both.toolbox().call('run', { a: 'x' })).structured).toEqual(['script']);
    expect(await withResolver({}).toolbox().catalog.problems()).toMatchObject([
      { message: expect.stringContaining('neither') },
    ]);
  });

  spec('TJS-18', 'keep the value or reject the call on failure, empty output or a missing program', async () => {
    const reasons: [string | undefined, RegExp][] = [
      ['#!/bin/sh\necho no such note >&2\nexit 1\n', /failed: no such note/],
      ['#!/bin/sh\necho "  "\n', /returned nothing/],
      ['#!/bin/sh\nkill -9 $$\n', /./],
      [undefined, /command not found: look-up/],
    ];
    for (const [program, reason] of reasons) {
      for (const onFailure of ['keep', 'reject']) {
        const workspace = withResolver({ ...look, onFailure });
        const marker = join(workspace.dir, 'ran');
        workspace.program('args', `#!/bin/sh\ntouch ${marker}\nprintf '["%s"]' "$1"\n`);
        if (program !== undefined) workspace.program('look-up', program);
        const result = await workspace.toolbox().call('run', { a: 'x' });
        expect(existsSync(marker)).toBe(onFailure === 'keep');
        if (onFailure === 'keep') {
          expect(textOf(result)).toBe('["x"]');
          expect(result.meta.resolvers).toEqual([
            { param: 'a', outcome: 'kept', reason: expect.stringMatching(reason) },
          ]);
        } else {
          expect(result.error).toMatchObject({
            code: 'invalid_input',
            message: expect.stringMatching(reason),
          });
          expect(result.error?.hint).toMatch(/\S/);
        }
      }
    }
    const off = await withResolver({ script: 'find', onFailure: 'reject' }).toolbox().call('run', { a: 'x' });
    expect(off.error?.code).toBe('invalid_input');
  });

  spec('TJS-18 TJS-24', 'resolve a missing value only if it is optional', async () => {
    for (const [optional, expected] of [
      [false, []],
      [true, ['found:']],
    ] as const) {
      const workspace = withResolver({ binary: 'look-up', args: ['$param'] }, {}, { optional });
      workspace.program('look-up', '#!/bin/sh\necho "found:$1"\n');
      expect((await workspace.toolbox().call('run', {})).structured).toEqual(expected);
    }
  });

  spec('TJS-11', 'run after normalizeNewlines', async () => {
    const workspace = withResolver({ binary: 'look-up', args: ['$param'] }, {}, { normalizeNewlines: true });
    workspace.program('look-up', `#!${process.execPath}\nconsole.log(JSON.stringify(process.argv[2]));\n`);
    expect((await workspace.toolbox().call('run', { a: 'x\\ny' })).structured).toEqual(['"x\\ny"']);
  });

  spec.thorough('TJS-20 TJS-18', 'are stopped at their time limit, and the value is kept', async () => {
    const workspace = withResolver({ binary: 'look-up' });
    workspace.program('look-up', '#!/bin/sh\necho late\nsleep 600\n');
    workspace.program('args', '#!/bin/sh\necho "$1"\n');
    const began = Date.now();
    const result = await workspace.toolbox().call('run', { a: 'x' }, { timeoutMs: 3000 });
    expect(Date.now() - began).toBeLessThan(patience(50_000));
    expect(textOf(result)).toBe('x\n');
    expect(result.meta.resolvers).toMatchObject([{ reason: expect.stringContaining('did not end (timeout)') }]);
  });

  spec('TJS-20', 'have a limit of 10 s, even if the call may take longer', async () => {
    // Fake timers; the process is real.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const workspace = withResolver({ binary: 'look-up' });
    const started = join(workspace.home, 'started');
    workspace.program('look-up', `#!/bin/sh\ntouch '${started}'\nexec sleep 600\n`);
    let isOver = false;
    const running = workspace.toolbox().call('run', { a: 'x' }, { timeoutMs: 300_000 });
    void running.then(() => {
      isOver = true;
    });
    await until(() => existsSync(started), 'the program runs');
    await vi.advanceTimersByTimeAsync(7000);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(3500);
    expect((await running).structured).toEqual(['x']);
  });
});
