import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect } from 'vitest';
import { spec } from '../../../test/support/spec.js';
import { createWorkspace } from '../../../test/support/workspace.js';
import { compareVersions } from './advisories.js';
import { findPackage, findPackages } from './package.js';
import { findBin } from './start.js';

const read = (line: string) => {
  const [command = '', ...args] = line.split(' ');
  const found = findPackage(command, args);
  return found && [found.ecosystem, found.name, found.wanted, found.program, found.withVersion('V').join(' ')];
};

spec('UPS-123', 'finds the package of a command line, and replaces its version', () => {
  const cases: readonly (readonly [string, readonly unknown[] | undefined])[] = [
    ['npx -y x a', ['npm', 'x', undefined, undefined, '-y x@V a']],
    ['/usr/bin/npx x@1.2.3 -y', ['npm', 'x', '1.2.3', undefined, 'x@V -y']],
    ['npx -p @a/x@^1 prog -p y', ['npm', '@a/x', '^1', 'prog', '-p @a/x@V prog -p y']],
    ['npx --package=@a/x -y -- prog', ['npm', '@a/x', undefined, 'prog', '--package=@a/x@V -y -- prog']],
    ['npm exec -y x -- -v', ['npm', 'x', undefined, undefined, 'exec -y x@V -- -v']],
    ['pnpm dlx x@latest', ['npm', 'x', 'latest', undefined, 'dlx x@V']],
    ['yarn dlx x', ['npm', 'x', undefined, undefined, 'dlx x@V']],
    ['bunx --bun x', ['npm', 'x', undefined, undefined, '--bun x@V']],
    ['uvx x', ['PyPI', 'x', undefined, 'x', 'x@V']],
    ['uvx --python 3.12 x[cli]@1.0 y', ['PyPI', 'x', '1.0', 'x', '--python 3.12 x[cli]@V y']],
    ['uvx --from x[cli]>=1,<2 prog', ['PyPI', 'x', '>=1,<2', 'prog', '--from x[cli]==V prog']],
    ['uv tool run --from=x==1.0 prog', ['PyPI', 'x', '1.0', 'prog', 'tool run --from=x==V prog']],
    [
      'docker run -i --rm -e A -v /a:/b --init x/y:1 z',
      ['docker', 'x/y', '1', undefined, 'run -i --rm -e A -v /a:/b --init x/y@V z'],
    ],
    [
      'docker run -it --name n r.io:5000/x',
      ['docker', 'r.io:5000/x', undefined, undefined, 'run -it --name n r.io:5000/x@V'],
    ],
    // Not packages of a registry, or in a form that is not known.
    ['npx github:a/x', undefined],
    ['npx ./x', undefined],
    ['npx --registry https://r.example x', undefined],
    ['npx -p x -p y prog', undefined],
    ['npx x@npm:y', undefined],
    ['uvx --from git+https://h.example/x prog', undefined],
    ['uvx --with y x', undefined],
    ['docker compose run x', undefined],
    ['npx -y', undefined],
    ['env npx x', undefined],
  ];
  for (const [line, expected] of cases) expect(read(line), line).toEqual(expected);
});

spec('UPS-124', 'finds all packages of a command line, or says that it cannot', () => {
  const cases: readonly (readonly [string, readonly string[] | undefined])[] = [
    ['npx -y p@1.0.0 -p q', ['p 1.0.0']],
    ['npx -y alias@npm:p@1.0.0', ['p 1.0.0']],
    ['npx -y @a/alias@npm:@b/p@1.0.0', ['@b/p 1.0.0']],
    ['npx -y -p q@1.0.0 --package=p@1.0.0 q', ['q 1.0.0', 'p 1.0.0']],
    ['npx --loglevel error -y p@1.0.0', ['p 1.0.0']],
    ['npx -y --registry=https://r.example p', ['p undefined']],
    ['npm exec --yes=true -- p@1.0.0 --package=q', ['p 1.0.0']],
    ['npm exec p@1.0.0 --package=q@2.0.0', ['q 2.0.0']],
    ['uvx --with pp==1.0.0 qq==1', ['qq 1', 'pp 1.0.0']],
    ['uvx --with=a==1,b[x]>=1,<2 --from q prog', ['a 1', 'b >=1,<2', 'q undefined']],
    ['uvx --index-url https://x pp@1.0.0', ['pp 1.0.0']],
    ['uv run --frozen --with pp==1.0.0 prog', ['pp 1.0.0']],
    ['uv run server.py', []],
    ['npx ./server', []],
    ['node server.js', []],
    ['npm run start', []],
    ['docker run -i x/y:1', ['x/y 1']],
    ['docker compose run x', []],
    // Not understood.
    ['npx --unknown p@1.0.0', undefined],
    ['npx -c p', undefined],
    ['npx -yp q p', undefined],
    ['npx -y true p@1.0.0', undefined],
    ['npx github:a/p', undefined],
    ['npx https://r.example/p-1.0.0.tgz', undefined],
    ['npm --silent exec p', undefined],
    ['npm exec p@1.0.0 --pack=q@2.0.0', undefined],
    ['uvx --from git+https://h.example/x prog', undefined],
    ['uvx --with-requirements r.txt x', undefined],
    ['env A=b npx p', undefined],
    ['pipx run p', undefined],
  ];
  for (const [line, expected] of cases) {
    const [command = '', ...args] = line.split(' ');
    expect(
      findPackages(command, args)?.map(({ name, wanted }) => `${name} ${wanted}`),
      line,
    ).toEqual(expected);
  }
});

spec('UPS-123', 'finds the program of a package as npx does', () => {
  const { home } = createWorkspace();
  const own = join(home, 'node_modules', '@a', 'x');
  mkdirSync(own, { recursive: true });
  const find = (bin: unknown, program?: string): string => {
    writeFileSync(join(own, 'package.json'), JSON.stringify({ bin }));
    return relative(own, findBin('@a/x', program, home, 'far'));
  };
  expect(find('./main.js')).toBe('main.js');
  expect(find({ other: 'other.js' })).toBe('other.js');
  expect(find({ other: 'other.js', x: 'x.js' })).toBe('x.js');
  expect(find({ other: 'other.js', x: 'x.js' }, 'other')).toBe('other.js');
  for (const [bin, program] of [[{ one: '1.js', two: '2.js' }], [{}], [{ x: 1 }], [{ x: 'x.js' }, 'toString']] as const)
    expect(() => find(bin, program), JSON.stringify(bin)).toThrow(expect.objectContaining({ code: 'unavailable' }));
});

spec('UPS-124', 'compares versions of npm and PyPI', () => {
  const ascending = [
    [
      '0.9',
      '1.0.0-0',
      '1.0.0-alpha.1',
      '1.0.0-alpha.2',
      '1.0.0-beta',
      '1.0.0-rc.1',
      '1.0.0',
      '1.0.1',
      '1.2',
      '1.10.0',
      '2',
    ],
    ['1.0.dev1', '1.0a1', '1.0b2', '1.0rc1', '1.0', '1.0.post1', '1.1', '1!0.1'],
  ];
  for (const versions of ascending)
    for (const [at, one] of versions.entries())
      for (const [other, two] of versions.entries())
        expect(Math.sign(compareVersions(one, two)), `${one} ${two}`).toBe(Math.sign(at - other));
  for (const [one, two] of [
    ['1.0', '1.0.0'],
    ['v1.2.3', '1.2.3'],
    ['1.2.3+build', '1.2.3'],
    ['1.0alpha1', '1.0a1'],
  ])
    expect(compareVersions(one!, two!), one).toBe(0);
});
