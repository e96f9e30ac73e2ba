// The official conformance suite: installs it with a newer Node and its own server in a cache folder, and runs scenarios.

import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

export const CACHE = process.env.WIELD_CONFORMANCE_CACHE ?? join(homedir(), '.cache', 'wield-conformance');
const REPOSITORY = process.env.WIELD_CONFORMANCE_REPO ?? 'https://github.com/modelcontextprotocol/conformance';
const RELEASE = '0.1.16';
const PRERELEASE = '0.2.0-alpha.12';

export const RUNS = [
  { version: RELEASE, revision: '2025-11-25', args: [], serverArgs: ['--suite', 'all'] },
  { version: PRERELEASE, revision: '2025-11-25', args: ['--requirements', '2025-11-25'] },
  { version: PRERELEASE, revision: '2026-07-28', args: ['--requirements', '2026-07-28'] },
];

function install(name, packages) {
  const directory = join(CACHE, name);
  if (existsSync(join(directory, 'node_modules'))) return directory;
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), '{"private":true,"type":"module"}\n');
  execFileSync('npm', ['install', '--no-audit', '--no-fund', ...packages], { cwd: directory, stdio: 'inherit' });
  return directory;
}

export const node = join(install('node', ['node@24']), 'node_modules/node/bin/node');
const suites = {
  [RELEASE]: install('release', [`@modelcontextprotocol/conformance@${RELEASE}`]),
  [PRERELEASE]: install('prerelease', [
    `@modelcontextprotocol/conformance@${PRERELEASE}`,
    'tsx',
    'cors',
    'express',
    'zod',
  ]),
};
const clone = join(CACHE, 'repository');
if (
  !existsSync(clone) &&
  spawnSync('git', ['clone', '--depth', '1', REPOSITORY, clone], { stdio: 'inherit' }).status !== 0
) {
  console.error(
    `not cloned: ${REPOSITORY}, which has the suite's own server; WIELD_CONFORMANCE_REPO names a copy of it`,
  );
  process.exit(1);
}
/** The directory that the suite's own server, `everything-server.ts`, is started in. */
export const serverDirectory = suites[PRERELEASE];
copyFileSync(
  join(clone, 'examples/servers/typescript/everything-server.ts'),
  join(serverDirectory, 'everything-server.ts'),
);

function runSuite(version, args) {
  const program = join(suites[version], 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
  try {
    const stdout = execFileSync(node, [program, ...args], { stdio: ['ignore', 'pipe', 'ignore'], timeout: 900_000 });
    return { ok: true, stdout: String(stdout) };
  } catch {
    // It exits with 1 if a scenario fails.
    return { ok: false, stdout: '' };
  }
}

// Scenarios of extensions that are no part of a revision.
const SKILLS = /^ {2}- (sep-2640-\S+)/gm;

/** Runs all scenarios for servers against a URL, with those of the skills extension in the newest revision. */
export function runServerScenarios({ version, revision, args, serverArgs = args }, url) {
  const output = mkdtempSync(join(tmpdir(), 'wield-conformance-'));
  try {
    runSuite(version, ['server', '--url', url, '-o', output, ...serverArgs]);
    const isNewest = revision === RUNS.at(-1).revision;
    const listed = isNewest ? runSuite(version, ['list', '--server']).stdout : '';
    for (const [, name] of listed.matchAll(SKILLS))
      runSuite(version, [
        'server',
        '--url',
        url,
        '-o',
        output,
        '--scenario',
        name,
        '--spec-version',
        revision,
        '--force',
      ]);
    return readdirSync(output).map((directory) => {
      const checks = JSON.parse(readFileSync(join(output, directory, 'checks.json'), 'utf8'));
      const has = (wanted) => checks.some(({ status }) => status === wanted);
      return {
        name: /^server-(.*?)-\d{4}-\d\d-\d\dT/.exec(directory)[1],
        isPassed: !has('FAILURE'),
        isScored: has('FAILURE') || has('SUCCESS') || has('WARNING'),
        warnings: checks.flatMap(({ status, id, errorMessage }) => (status === 'WARNING' ? [errorMessage ?? id] : [])),
      };
    });
  } finally {
    rmSync(output, { recursive: true });
  }
}

/** Runs all scenarios for clients one by one; in parallel, as a suite does, their timings fail on a small machine. */
export function runClientScenarios({ version, revision, args }, command) {
  const { stdout } = runSuite(version, ['list', ...args]);
  const [, required = ''] = /Client scenarios.*\n((?: {2}- .*\n)*)/.exec(stdout) ?? [];
  const names = [
    ...[...required.matchAll(/- (\S+)/g)].map(([, name]) => name),
    ...[...stdout.matchAll(/- (\S+) \[client\]/g)].map(([, name]) => name),
  ];
  const forced = args.length === 0 ? [] : ['--spec-version', revision, '--force'];
  return names.map((name) => {
    const { ok } = runSuite(version, ['client', '--command', command, '--scenario', name, ...forced]);
    return { name, isPassed: ok };
  });
}
