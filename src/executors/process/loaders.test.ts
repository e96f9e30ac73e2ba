// Tests of shebang lines: a script is run from a descriptor only if that reads the line as the system does.

import { expect } from 'vitest';
import { finding } from '../../../test/support/spec.js';
import { findLoader, optionsOf } from './loaders.js';

finding('B3', 'options are those between interpreter and script, as the system reads them', () => {
  const lines: readonly (readonly [string, string[] | undefined])[] = [
    ['/bin/sh', []],
    [' /bin/sh  -eu ', ['-eu']],
    ['/bin/sh -e -u', undefined],
    ['/usr/bin/env bash', []],
    ['/usr/bin/env -S bash', []],
    ['/usr/bin/env -S bash -eu -x', ['-eu', '-x']],
    ['/usr/bin/env bash -eu', undefined],
    ['/usr/bin/env', undefined],
    ['/usr/bin/env -S', undefined],
    ['/usr/bin/env -i', undefined],
    ['/usr/bin/env -S -i bash', undefined],
    ['/usr/bin/env -S WORD=1 bash', undefined],
    ['/usr/bin/env WORD=1', undefined],
  ];
  expect(lines.map(([line]) => [line, optionsOf(line)])).toEqual(lines);
});

finding(
  'B3',
  'shells and Python run scripts from a descriptor, with options that do not change where they come from',
  () => {
    const argvOf = (shebang: string, interpreter: string) => findLoader(shebang, interpreter, '/a/script')?.argv;
    expect(argvOf('/bin/sh', '/bin/sh')).toEqual(['/bin/sh', '-c', '. /dev/fd/3', '/a/script']);
    expect(argvOf('/usr/bin/env -S bash -eu', '/bin/bash')).toEqual([
      '/bin/bash',
      '--norc',
      '-eu',
      '-c',
      '. /dev/fd/3',
      '/a/script',
    ]);
    expect(argvOf('/usr/bin/python3 -u', '/usr/bin/python3')?.slice(0, 3)).toEqual(['/usr/bin/python3', '-u', '-c']);
    for (const option of ['-c', '-s', '-l', '-i', '--rcfile', '-', '-r', '--login'])
      expect([option, argvOf(`/bin/bash ${option}`, '/bin/bash')]).toEqual([option, undefined]);
    for (const option of ['-c', '-m', '-i', '-x', '-', '-W', '-X'])
      expect([option, argvOf(`/usr/bin/python3 ${option}`, '/usr/bin/python3')]).toEqual([option, undefined]);
    for (const other of ['/usr/bin/perl', '/usr/bin/node', '/bin/zsh', '/bin/shx', '/usr/bin/pythonx'])
      expect([other, argvOf(other, other)]).toEqual([other, undefined]);
  },
);
