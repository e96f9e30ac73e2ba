// What CI uses: SARIF, the GitHub Action and the hooks for pre-commit.

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Ajv } from 'ajv';
import { describe, expect } from 'vitest';
import { parse } from 'yaml';
import { binary } from '../../support/built.js';
import { json, wield } from '../../support/cli.js';
import { ROOT } from '../../support/documents.js';
import { spec, specIf } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const run = promisify(execFile);
const read = (name: string): string => readFileSync(join(ROOT, name), 'utf8');
const { version } = JSON.parse(read('package.json'));
const GOOD = '#!/bin/sh\n# @description Says hello.\necho hello\n';
const FAULTY = '#!/bin/sh\n# @description Says hello.\n# @param name strng Whom to greet\necho hello\n';

function faulty(): Workspace {
  const workspace = createWorkspace();
  workspace.script('good', GOOD);
  workspace.script('a b%ü', FAULTY);
  workspace.write('.agents/skills/notes/SKILL.md', '---\nname: notes\ndescription: Notes.\n---\n\nRead them.\n');
  workspace.write('.agents/skills/notes/tools.json', '{ "tools": [], "allowlst": {} }');
  return workspace;
}

describe.concurrent('wield check --sarif', () => {
  spec('PKG-9', 'prints the findings of --json, at their places', async () => {
    const workspace = faulty();
    const { findings } = json(await wield(workspace, ['check', '--json']));
    const { status, stdout, stderr } = await wield(workspace, ['check', '--sarif']);
    expect([status, stderr]).toEqual([1, '']);
    const { version: format, runs } = JSON.parse(stdout);
    expect([format, runs.length]).toEqual(['2.1.0', 1]);
    const [{ tool, results }] = runs;
    expect(tool.driver).toMatchObject({ name: 'wield', version });
    expect(findings.length).toBeGreaterThan(1);
    expect(results).toEqual(
      findings.map(({ level, path, pointer, line, column, message, hint }: Record<string, string | undefined>) => ({
        ruleId: level,
        ruleIndex: tool.driver.rules.findIndex(({ id }: { id: string }) => id === level),
        level,
        message: { text: `${message}\n${hint}` },
        locations: [
          {
            physicalLocation: {
              artifactLocation: { uri: encodeURI(path!) },
              region: { startLine: line ?? 1, ...(column === undefined ? {} : { startColumn: column }) },
            },
            ...(pointer === '' ? {} : { logicalLocations: [{ fullyQualifiedName: pointer }] }),
          },
        ],
      })),
    );
    expect(stdout).toContain('".agents/tools/a%20b%25%C3%BC"');
  });

  spec('PKG-9', 'names files relative to the current directory, also of a skill or another workspace', async () => {
    const workspace = faulty();
    const urisOf = async (cwd: string, ...args: string[]): Promise<string[]> => {
      const { stdout } = await wield(workspace, ['check', ...args, '--sarif'], { cwd });
      type Result = { locations: [{ physicalLocation: { artifactLocation: { uri: string } } }] };
      const results: Result[] = JSON.parse(stdout).runs[0].results;
      return results.map(({ locations: [{ physicalLocation }] }) => physicalLocation.artifactLocation.uri);
    };
    const skill = '.agents/skills/notes/tools.json';
    expect(await urisOf(workspace.dir, '.agents/skills/notes')).toContain(skill);
    expect(await urisOf(workspace.dir, '.agents/skills')).toContain(skill);
    expect(await urisOf(join(workspace.dir, '..'), 'project')).toContain(`project/${skill}`);
  });

  spec('PKG-9', 'has no results if there is nothing to report, and not together with --json', async () => {
    const workspace = createWorkspace();
    workspace.script('good', GOOD);
    const { status, stdout } = await wield(workspace, ['check', '--sarif']);
    expect([status, JSON.parse(stdout).runs[0].results]).toEqual([0, []]);
    expect((await wield(workspace, ['check', '--sarif', '--json'])).status).toBe(2);
  });

  const schema = process.env.WIELD_SARIF_SCHEMA;
  const missing = 'the schema of SARIF is not part of the repository; to run: WIELD_SARIF_SCHEMA=FILE npm test';
  specIf(schema !== undefined, missing, 'PKG-9', 'is valid', async () => {
    const validate = new Ajv({ strict: false, validateFormats: false }).compile({
      ...JSON.parse(readFileSync(schema!, 'utf8')),
      // Of draft 4.
      $schema: undefined,
      id: undefined,
    });
    const { stdout } = await wield(faulty(), ['check', '--sarif']);
    validate(JSON.parse(stdout));
    expect(validate.errors).toBe(null);
    expect(validate({ version: '2.1.0', runs: [{ results: [] }] })).toBe(false);
  });
});

interface Action {
  readonly inputs: Readonly<Record<string, { readonly default: string; readonly description: string }>>;
  readonly runs: {
    readonly steps: readonly [{ readonly run: string; readonly env: Readonly<Record<string, string>> }];
  };
}

describe.concurrent('the action', () => {
  const { inputs, runs }: Action = parse(read('action.yml'));
  const [step] = runs.steps;
  const variableOf = (input: string): string => `INPUT_${input.toUpperCase().replaceAll('-', '_')}`;

  spec('PKG-10', 'passes inputs as variables, and in no other way', () => {
    expect(runs.steps.length).toBe(1);
    expect(step.run).not.toContain('${{');
    const names = Object.keys(inputs);
    expect(step.env).toEqual(Object.fromEntries(names.map((name) => [variableOf(name), `\${{ inputs.${name} }}`])));
    const script = read('scripts/action.sh');
    for (const name of names) expect(script).toContain(`$${variableOf(name)}`);
    for (const name of names) expect(read('docs/guides/ci.md')).toContain(`| \`${name}\` |`);
  });

  const act = async (workspace: Workspace, given: Readonly<Record<string, string>>) => {
    const bin = join(workspace.home, 'bin');
    mkdirSync(bin, { recursive: true });
    workspace.write('../home/bin/wield', `#!/bin/sh\nexec "${process.execPath}" "${binary()}" "$@"\n`, 0o755);
    const values = Object.entries(inputs).map(([name, { default: usual }]) => [variableOf(name), given[name] ?? usual]);
    const env = {
      ...workspace.env,
      ...Object.fromEntries(values),
      PATH: `${bin}:${workspace.env.PATH}`,
      INPUT_VERSION: given.version ?? 'installed',
      GITHUB_ACTION_PATH: ROOT,
      RUNNER_TEMP: workspace.home,
    };
    const ended = run('bash', ['-c', step.run], { cwd: workspace.dir, env });
    return ended.then(({ stdout }) => ({ status: 0, stdout })).catch(({ code, stdout }) => ({ status: code, stdout }));
  };

  spec('PKG-10', 'runs all parts, and fails if one does', async () => {
    const workspace = faulty();
    const { status, stdout } = await act(workspace, {
      verify: 'true',
      sarif: 'found.sarif',
      'max-tokens': '1',
      directory: '.',
    });
    expect(status).toBe(1);
    expect(stdout).toContain('::error::failed: check tokens\n');
    for (const name of ['verify', 'check', 'tokens']) expect(stdout).toContain(`::group::wield ${name}\n`);
    expect(JSON.parse(readFileSync(join(workspace.dir, 'found.sarif'), 'utf8')).runs[0].results.length).toBeGreaterThan(
      1,
    );
  });

  spec('PKG-10', 'installs what the lock describes, and succeeds', async () => {
    const workspace = createWorkspace();
    workspace.write('site/source/tools/count/count', '#!/bin/sh\n# @description Counts.\necho 1\n', 0o755);
    workspace.write('site/wield.lock', '{ "version": 1, "sources": [] }');
    workspace.write('site/.agents/tools/good', GOOD, 0o755);
    const { status, stdout } = await act(workspace, {
      install: 'true',
      verify: 'true',
      directory: 'site',
      'max-tokens': '90000',
    });
    expect([stdout.match(/::group::wield \w+/g), status]).toEqual([
      ['install', 'verify', 'check', 'tokens'].map((name) => `::group::wield ${name}`),
      0,
    ]);
  });

  spec('PKG-10', 'does not execute its inputs, and the runner does not execute what is printed', async () => {
    const workspace = faulty();
    const mark = join(workspace.dir, 'executed');
    const hostile = `$(touch ${mark})\`touch ${mark}\`"; touch ${mark}; "`;
    for (const name of Object.keys(inputs))
      expect([name, (await act(workspace, { [name]: hostile })).status !== 0 || name === 'sarif']).toEqual([
        name,
        true,
      ]);
    workspace.write('--fix/.agents/tools/good', GOOD, 0o755);
    expect((await act(workspace, { directory: '--fix' })).status).toBe(0);
    expect(existsSync(mark)).toBe(false);
    const { stdout } = await act(workspace, {});
    const [, token] = /^::stop-commands::([0-9a-f]{32})$/m.exec(stdout)!;
    const [before, printed, after] = stdout.split(new RegExp(`::stop-commands::${token}\n|::${token}::\n`));
    expect([before, after]).toEqual(['::group::wield check\n', '::endgroup::\n::error::failed: check\n']);
    expect(printed).toContain('allowlst');
  });

  spec('PKG-10', 'is offered as hooks of the same version', () => {
    const hooks: { id: string; entry: string; pass_filenames: boolean }[] = parse(read('.pre-commit-hooks.yaml'));
    expect(hooks.map(({ id }) => id)).toEqual(['wield-check', 'wield-verify', 'wield-tokens', 'wield-install']);
    for (const { entry, pass_filenames } of hooks) {
      expect(entry).toContain(`npx --yes wield@${version} `);
      expect(pass_filenames).toBe(false);
    }
    const guide = read('docs/guides/ci.md');
    expect(guide).toContain(`wield@v${version}`);
    expect(guide).toContain(`rev: v${version}`);
  });
});
