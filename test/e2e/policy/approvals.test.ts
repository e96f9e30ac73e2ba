// Approval of calls: at a terminal, with --yes, in code, and by a stored approval that is used once.

import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { ApprovalRequest, Approve } from '../../../src/core/approval.js';
import type { CallEvent } from '../../../src/core/event.js';
import { textOf } from '../../../src/core/result.js';
import { askFor, createAskingWorkspace, DEPLOY } from '../../support/approvals.js';
import { json, wield } from '../../support/cli.js';
import { connectAsking } from '../../support/clients.js';
import { createSkillWorkspace, declare } from '../../support/commands.js';
import { sleep } from '../../support/processes.js';
import { hasPty, NO_PTY, wieldAtTerminal } from '../../support/pty.js';
import { shellScript } from '../../support/shell-script.js';
import { finding, spec, specIf } from '../../support/spec.js';

const MODEL = { kind: 'model', door: 'mcp', name: 'cursor' } as const;
const answer =
  (given: Awaited<ReturnType<Approve>>): Approve =>
  async () =>
    given;

describe('without a terminal', () => {
  spec('POL-6', 'the call is needs_approval with an id and the command that approves it', async () => {
    const workspace = createAskingWorkspace();
    const run = await workspace.deploy('main');
    expect(run).toMatchObject({ status: 5, stdout: '' });
    const [, id] = /hint .*wield approvals approve ([0-9a-f]{16});/.exec(run.stderr)!;
    expect(run.stderr).toContain('deploy needs approval: a rule asks first: deploy');
    expect(json(await workspace.deploy('main', ['--json'])).error).toMatchObject({
      code: 'needs_approval',
      data: { id, rule: 'deploy' },
    });
    expect(workspace.runs()).toEqual([]);
    expect(workspace.records()).toEqual([`${id}.pending.json`]);
  });

  spec('POL-6 POL-7', 'repeating the call after approval runs it, once', async () => {
    const workspace = createAskingWorkspace();
    const id = await askFor(workspace);
    expect((await wield(workspace, ['approvals', 'approve', id])).status).toBe(0);
    expect(await workspace.deploy()).toMatchObject({ status: 0, stdout: 'deployed\n' });
    expect((await workspace.deploy()).status).toBe(5);
    expect(workspace.runs()).toEqual(['main']);
  });

  spec('POL-7', 'an approval is not valid for other input, another caller or another directory', async () => {
    const workspace = createAskingWorkspace();
    const id = await askFor(workspace);
    await wield(workspace, ['approvals', 'approve', id]);
    expect((await workspace.deploy('prod')).status).toBe(5);
    const toolbox = workspace.toolbox({ trust: true });
    expect((await toolbox.call('deploy', { branch: 'main' }, { caller: MODEL })).error?.code).toBe('needs_approval');
    mkdirSync(join(workspace.dir, 'below'));
    renameSync(join(workspace.dir, '.agents'), join(workspace.home, '.agents'));
    const elsewhere = await workspace.deploy('main', [], { cwd: join(workspace.dir, 'below') });
    expect(elsewhere.status).toBe(5);
    expect(workspace.runs()).toEqual([]);
  });

  spec(
    'POL-7',
    'an approval is not valid for a changed tool, and is valid again when the change is undone',
    async () => {
      const workspace = createAskingWorkspace();
      await wield(workspace, ['approvals', 'approve', await askFor(workspace)]);
      workspace.script('deploy', `${DEPLOY}# changed\n`);
      expect((await workspace.deploy()).status).toBe(5);
      workspace.script('deploy', DEPLOY);
      expect((await workspace.deploy()).status).toBe(0);
      expect(workspace.runs()).toEqual(['main']);
    },
  );

  spec('POL-7', 'the same call always has the same id, and records are private', async () => {
    const workspace = createAskingWorkspace();
    const ids = await Promise.all([askFor(workspace), askFor(workspace), askFor(workspace)]);
    expect(new Set(ids).size).toBe(1);
    expect(workspace.records()).toHaveLength(1);
    expect(statSync(workspace.approvals).mode & 0o777).toBe(0o700);
    expect(statSync(join(workspace.approvals, workspace.records()[0]!)).mode & 0o777).toBe(0o600);
  });

  spec('POL-6', 'a person refuses, and the same call is denied without asking again', async () => {
    const workspace = createAskingWorkspace();
    const id = await askFor(workspace);
    expect(json(await wield(workspace, ['approvals', 'deny', id, '--json'])).approval).toMatchObject({
      id,
      state: 'denied',
    });
    expect(json(await workspace.deploy('main', ['--json'])).error).toMatchObject({ code: 'denied' });
    await wield(workspace, ['approvals', 'approve', id]);
    expect((await workspace.deploy()).status).toBe(0);
    expect(workspace.runs()).toEqual(['main']);
  });

  spec('POL-6', 'a run in CI does not ask, and does not wait for a closed stdin', async () => {
    const workspace = createAskingWorkspace();
    expect((await workspace.deploy('main', [], { env: { CI: '1' } })).status).toBe(5);
  });

  specIf(hasPty, NO_PTY, 'POL-6', 'does not ask at a terminal in CI', async () => {
    const workspace = createAskingWorkspace();
    const run = await wieldAtTerminal(workspace, ['call', 'deploy', '--branch', 'main'], {
      env: { CI: '1' },
    });
    expect(run.status).toBe(5);
    expect(run.screen).not.toContain('Run it?');
  });
});

spec('CLI-8', '--yes approves this call, and leaves no pending question', async () => {
  const workspace = createAskingWorkspace();
  expect(await workspace.deploy('main', ['--yes'])).toMatchObject({ status: 0, stdout: 'deployed\n' });
  expect((await workspace.deploy('main')).status).toBe(5);
  // The approval also answers the pending question of the call before.
  expect(workspace.records()).toHaveLength(1);
  await workspace.deploy('main', ['--yes']);
  expect(workspace.records()).toEqual([]);
  expect(workspace.runs()).toEqual(['main', 'main']);
});

describe('wield approvals', () => {
  spec('POL-6', 'lists and shows pending calls with the exact command and input', async () => {
    const workspace = createAskingWorkspace();
    expect((await wield(workspace, ['approvals'])).stdout).toBe('No pending approvals.\n');
    const id = await askFor(workspace, 'main');
    const { approvals } = json(await wield(workspace, ['approvals', 'list', '--json']));
    const file = join(workspace.dir, '.agents/tools/deploy');
    expect(approvals).toEqual([
      expect.objectContaining({
        id,
        state: 'pending',
        tool: 'deploy',
        caller: { kind: 'person', name: 'cli' },
        workdir: workspace.dir,
        input: { branch: 'main' },
        command: [file],
        rule: 'deploy',
      }),
    ]);
    expect(Date.parse(approvals[0].until) - Date.parse(approvals[0].since)).toBe(7 * 24 * 3_600_000);
    const shown = await wield(workspace, ['approvals', 'show', id]);
    for (const text of [file, '{"branch":"main"}', 'cli (a person)', 'Publish the site', 'config.toml:2'])
      expect(shown.stdout).toContain(text);
    // Values of variables may be secret.
    expect(/^ {2}with +(.*)$/m.exec(shown.stdout)?.[1]).toMatch(/^[A-Z_]+( [A-Z_]+)+$/);
    const approved = json(await wield(workspace, ['approvals', 'approve', id, '--json'])).approval;
    expect(approved).toMatchObject({ id, state: 'approved' });
    expect(Date.parse(approved.until) - Date.parse(approved.since)).toBe(24 * 3_600_000);
  });

  spec('POL-6', 'shows the commands that run before and after the called one', async () => {
    const workspace = createSkillWorkspace();
    const first = workspace.program('find-it', '#!/bin/sh\necho found\n');
    const resolveCommand = { binary: 'find-it', subcommand: '', args: ['$param'] };
    const declared = declare([{ param: 'what', kind: 'positional', resolveCommand }], {
      allowlist: { args: [''], 'find-it': [''] },
    });
    workspace.skill('finder', { 'tools.json': declared });
    workspace.config('[trust]\nrules = "run"\n');
    const { error } = json(await wield(workspace, ['call', 'run', '--what', 'it', '--json']));
    const { approval } = json(await wield(workspace, ['approvals', 'show', error.data.id, '--json']));
    expect(approval.others).toEqual([[first, 'it']]);
    expect((await wield(workspace, ['approvals', 'show', error.data.id])).stdout).toContain(`${first} it\n`);
  });

  spec('POL-6', 'reports an unknown id or action', async () => {
    const workspace = createAskingWorkspace();
    expect((await wield(workspace, ['approvals', 'approve', 'ffffffffffffffff'])).status).toBe(3);
    expect((await wield(workspace, ['approvals', 'approve', '../../x'])).status).toBe(3);
    expect(await wield(workspace, ['approvals', 'approve'])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('missing id'),
    });
    expect((await wield(workspace, ['approvals', 'aprove', 'x'])).stderr).toContain(
      'did you mean wield approvals approve?',
    );
  });

  spec('POL-23', '--always lets this tool run with any input until it changes or is revoked', async () => {
    const workspace = createAskingWorkspace();
    const id = await askFor(workspace);
    const { approval } = json(await wield(workspace, ['approvals', 'approve', id, '--always', '--json']));
    expect(approval).toMatchObject({ state: 'standing', tool: 'deploy', until: null });
    expect(approval).not.toHaveProperty('input');
    expect((await workspace.deploy('main')).status).toBe(0);
    expect((await workspace.deploy('prod')).status).toBe(0);
    workspace.script('deploy', `${DEPLOY}# changed\n`);
    expect((await workspace.deploy('prod')).status).toBe(5);
    workspace.script('deploy', DEPLOY);
    expect((await workspace.deploy('prod')).status).toBe(0);
    const revoked = await wield(workspace, ['approvals', 'deny', approval.id]);
    expect(revoked.stdout).toContain('revoked');
    expect((await workspace.deploy('main')).status).toBe(5);
    expect(workspace.runs()).toEqual(['main', 'prod', 'prod']);
  });

  spec('POL-23', 'a standing approval that was given for two calls is revoked at once', async () => {
    const workspace = createAskingWorkspace();
    const asked = [await askFor(workspace, 'main'), await askFor(workspace, 'prod')];
    for (const id of asked) await wield(workspace, ['approvals', 'approve', id, '--always']);
    const { approvals } = json(await wield(workspace, ['approvals', '--json']));
    expect(approvals).toEqual([expect.objectContaining({ state: 'standing' })]);
    await wield(workspace, ['approvals', 'deny', approvals[0].id]);
    expect((await workspace.deploy('main')).status).toBe(5);
    expect(workspace.runs()).toEqual([]);
  });

  spec('POL-6', 'a flag or id of another action is refused, and nothing is answered', async () => {
    const workspace = createAskingWorkspace();
    for (const args of [
      ['deny', 'x', '--always'],
      ['approve', 'x', '--reason', 'no'],
      ['approve', 'x', '--all-like-this', '--always'],
      ['list', 'x'],
    ])
      expect(await wield(workspace, ['approvals', ...args]), args.join(' ')).toMatchObject({ status: 2, stdout: '' });
  });

  spec('POL-23', 'a standing approval is valid for its caller only', async () => {
    const workspace = createAskingWorkspace();
    await wield(workspace, ['approvals', 'approve', await askFor(workspace), '--always']);
    const toolbox = workspace.toolbox({ trust: true });
    const result = await toolbox.call('deploy', { branch: 'main' }, { caller: MODEL });
    expect(result.error?.code).toBe('needs_approval');
    expect(workspace.runs()).toEqual([]);
  });

  spec('POL-7', 'doctor reports pending calls, and clean removes expired ones only', async () => {
    const workspace = createAskingWorkspace();
    await askFor(workspace, 'main');
    const old = await askFor(workspace, 'old');
    await wield(workspace, ['approvals', 'approve', old]);
    const [approved] = workspace.records().filter((name) => name.includes('approved'));
    const expired = `${old}.approved-${Date.now() - 25 * 3_600_000}.json`;
    renameSync(join(workspace.approvals, approved!), join(workspace.approvals, expired));
    const doctor = await wield(workspace, ['doctor']);
    expect(doctor.stdout).toContain('1 call waiting for your approval');
    await wield(workspace, ['clean']);
    expect(workspace.records()).toEqual([expect.stringContaining('.pending.json')]);
  });
});

describe('at a terminal', () => {
  const ask = (
    workspace: ReturnType<typeof createAskingWorkspace>,
    typed: string,
    branch = 'main',
    env: Record<string, string> = {},
  ) =>
    wieldAtTerminal(workspace, ['call', 'deploy', '--branch', branch], {
      answers: [['[a]lways: ', typed]],
      env,
    });

  specIf(hasPty, NO_PTY, 'POL-6', 'y runs it, and what is asked shows tool, origin, command and input', async () => {
    const workspace = createAskingWorkspace();
    const { status, screen } = await ask(workspace, 'y\n');
    expect(status).toBe(0);
    const file = join(workspace.dir, '.agents/tools/deploy');
    for (const text of [`from      file://${file}`, `runs      ${file}`, 'through   /bin/sh', '{"branch":"main"}'])
      expect(screen.replaceAll(/\n {12}/g, '')).toContain(text);
    expect(screen).toContain('deployed');
    expect(workspace.runs()).toEqual(['main']);
    expect(workspace.records()).toEqual([]);
  });

  specIf(hasPty, NO_PTY, 'POL-6', 'n, an empty line, other text and end of input refuse', async () => {
    const workspace = createAskingWorkspace();
    for (const typed of ['n\n', '\n', 'yeah\n', 'ja\n', '\u0004']) {
      const { status, screen } = await ask(workspace, typed);
      expect([typed, status]).toEqual([typed, 5]);
      expect(screen).toContain('deploy was not run');
    }
    expect(workspace.runs()).toEqual([]);
  });

  specIf(hasPty, NO_PTY, 'POL-6', 'Ctrl-C runs nothing and exits 130', async () => {
    const workspace = createAskingWorkspace();
    expect((await ask(workspace, '\u0003')).status).toBe(130);
    expect(workspace.runs()).toEqual([]);
  });

  specIf(hasPty, NO_PTY, 'POL-6', 'the question about a changed tool shows what changed', async () => {
    const workspace = createAskingWorkspace();
    await ask(workspace, 'y\n');
    workspace.script('deploy', DEPLOY.replace('echo deployed', 'rm -rf site; echo deployed'));
    const { screen } = await ask(workspace, 'n\n', 'prod');
    expect(screen).toMatch(/changed.* since 20/);
    expect(screen).toContain('- echo deployed');
    expect(screen).toContain('+ rm -rf site; echo deployed');
    expect(screen).toContain('+   "branch": "prod"');
  });

  specIf(hasPty, NO_PTY, 'POL-6', 'always is recorded, says what it means, and asks no more', async () => {
    const workspace = createAskingWorkspace();
    const { screen } = await ask(workspace, 'always\n');
    expect(screen).toContain('always: approves this version of the tool with any input');
    expect((await workspace.deploy('prod')).status).toBe(0);
    expect(workspace.records()).toEqual([expect.stringContaining('.standing-')]);
    expect(workspace.runs()).toEqual(['main', 'prod']);
  });

  specIf(hasPty, NO_PTY, 'POL-6', 'NO_COLOR removes the colour only', async () => {
    const workspace = createAskingWorkspace();
    const { status, screen } = await ask(workspace, 'y\n', 'main', { NO_COLOR: '1' });
    expect(status).toBe(0);
    expect(screen).not.toContain('\u001b');
  });
});

describe('in code', () => {
  spec('POL-6', 'approve gets the frozen plan, and its answer decides', async () => {
    const workspace = createAskingWorkspace();
    const toolbox = workspace.toolbox();
    const requests: ApprovalRequest[] = [];
    const approve = async (request: ApprovalRequest) => {
      requests.push(request);
      return 'once' as const;
    };
    const result = await toolbox.call('deploy', { branch: 'main' }, { approve });
    expect(textOf(result)).toBe('deployed\n');
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({
      tool: { name: 'deploy' },
      caller: { kind: 'code' },
      plan: { kind: 'process', cwd: workspace.dir, input: { branch: 'main' } },
      verdict: { verdict: 'ask', rule: 'deploy' },
      depth: 0,
    });
    expect(Object.isFrozen(requests[0]!.plan)).toBe(true);
    const codes = [];
    for (const given of ['deny', 'unable', 'later'] as const)
      codes.push((await toolbox.call('deploy', { branch: given }, { approve: answer(given) })).error?.code);
    expect(codes).toEqual(['denied', 'needs_approval', 'needs_approval']);
    expect(workspace.records()).toHaveLength(1);
    expect(workspace.runs()).toEqual(['main']);
  });

  spec('POL-6', 'an approve that fails or never answers runs nothing', async () => {
    const workspace = createAskingWorkspace();
    const toolbox = workspace.toolbox();
    const failing = await toolbox.call('deploy', { branch: 'a' }, { approve: () => Promise.reject(new Error('no')) });
    expect(failing.error?.code).toBe('needs_approval');
    const controller = new AbortController();
    const hanging = toolbox.call(
      'deploy',
      { branch: 'b' },
      {
        approve: () => new Promise(() => setTimeout(() => controller.abort(), 10)),
        signal: controller.signal,
      },
    );
    expect((await hanging).error?.code).toBe('cancelled');
    expect(workspace.runs()).toEqual([]);
  });

  spec('POL-6', 'a nested call asks through the outer one, and consent is not inherited', async () => {
    const workspace = createAskingWorkspace();
    workspace.config('[trust]\nrules = ["outer", "deploy"]\n');
    const outer = {
      name: 'outer',
      description: 'Calls deploy.',
      inputSchema: { type: 'object' as const, properties: {} },
      execute: async (_input: unknown, context: { toolbox: { call(ref: string, input: unknown): Promise<unknown> } }) =>
        JSON.stringify(await context.toolbox.call('deploy', { branch: 'nested' })),
    };
    const toolbox = workspace.toolbox({ tools: [outer] });
    const asked: [string, number][] = [];
    const approving =
      (names: readonly string[]): Approve =>
      async ({ tool, depth }) => {
        asked.push([tool.name, depth]);
        return names.includes(tool.name) ? 'once' : 'deny';
      };
    const refused = await toolbox.call('outer', {}, { approve: approving(['outer']) });
    expect(textOf(refused)).toContain('"code":"denied"');
    expect(workspace.runs()).toEqual([]);
    await toolbox.call('outer', {}, { approve: approving(['outer', 'deploy']) });
    expect(workspace.runs()).toEqual(['nested']);
    expect(asked).toEqual([
      ['outer', 0],
      ['deploy', 1],
      ['outer', 0],
      ['deploy', 1],
    ]);
  });

  spec('POL-6', 'the end event says how consent was given', async () => {
    const workspace = createAskingWorkspace();
    const toolbox = workspace.toolbox();
    const ends: (CallEvent & { type: 'end' })[] = [];
    toolbox.on((event) => event.type === 'end' && ends.push(event));
    const call = (approve?: Approve) =>
      toolbox.call('deploy', { branch: 'main' }, approve === undefined ? {} : { approve });
    const refused = await call();
    const id = String(refused.error?.data?.id);
    await toolbox.state.approvals.approve(id, false);
    await call();
    await call(answer('once'));
    await call(answer('always'));
    await call();
    expect(ends.map(({ approval }) => approval?.by)).toEqual([undefined, 'record', 'code', 'code', 'standing']);
    expect(ends.slice(1, 4).map(({ approval }) => approval?.id)).toEqual([id, id, id]);
  });
});

finding('B12', 'no secret is stored or shown while a call waits', async () => {
  const workspace = createAskingWorkspace();
  workspace.script(
    'login',
    shellScript(':', '@param user string', '@param password string', '@param note string', '@param api_key string'),
  );
  workspace.config('[trust]\nrules = "*"\n[env]\npass = ["DEPLOY_KEY"]\n');
  const env = { DEPLOY_KEY: 'granted-value-1' };
  const secrets = ['granted-value-1', 'hunter2-secret', 'sk-other-77'];
  const args = ['--user', 'ada', '--password', secrets[1]!, '--note', `uses ${secrets[0]}`, '--api_key', secrets[2]!];
  const call = () => wield(workspace, ['call', 'login', ...args], { env });
  expect((await call()).status).toBe(5);
  const directory = join(workspace.env.WIELD_HOME!, 'approvals');
  const stored = workspace.records().map((name) => readFileSync(join(directory, name), 'utf8'));
  const [{ id }] = json(await wield(workspace, ['approvals', '--json'])).approvals;
  const shown = [
    await wield(workspace, ['approvals']),
    await wield(workspace, ['approvals', '--json']),
    await wield(workspace, ['approvals', 'show', id]),
    await wield(workspace, ['approvals', 'approve', id]),
  ].map(({ stdout }) => stdout);
  for (const text of [...stored, ...shown]) {
    expect(text).toContain('ada');
    for (const secret of secrets) expect(text).not.toContain(secret);
  }
  // The approval is bound to the values themselves.
  const other = args.map((arg) => (arg === secrets[1] ? 'hunter2-other' : arg));
  expect((await wield(workspace, ['call', 'login', ...other], { env })).status).toBe(5);
  expect((await call()).status).toBe(0);
});

finding('B12', 'no secret of a command line is stored or shown while a call waits', async () => {
  const workspace = createSkillWorkspace();
  workspace.skill('own', {
    'tools.json': declare([
      { param: 'user', flag: '--user' },
      { param: 'password', flag: '--password' },
      { param: 'note', flag: '--note' },
    ]),
  });
  workspace.config('[trust]\nrules = "*"\n[env]\npass = ["DEPLOY_KEY"]\n');
  const env = { DEPLOY_KEY: 'granted-value-1' };
  const input = { user: 'ada', password: 'hunter2-secret', note: 'uses granted-value-1, token=sk-other-77' };
  const toolbox = workspace.toolbox({ env: { ...workspace.env, ...env } });
  const { error } = await toolbox.call('run', input);
  expect(error?.code).toBe('needs_approval');
  const directory = join(workspace.env.WIELD_HOME!, 'approvals');
  const stored = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'));
  const shown = await wield(workspace, ['approvals', 'show', String(error?.data?.id)], { env });
  for (const text of [...stored, shown.stdout]) {
    expect(text).toContain('ada');
    expect(text).not.toMatch(/granted-value-1|hunter2-secret|sk-other-77/);
  }
});

finding('B28', 'the audit log says who decided, how and when', async () => {
  const workspace = createAskingWorkspace();
  const last = async () => json(await wield(workspace, ['audit', '--json'])).records.at(-1).decision;
  const at = expect.stringMatching(/^\d{4}-/);
  const id = await askFor(workspace);
  expect(await last()).toEqual({ by: 'nobody', how: null, at: null });
  await wield(workspace, ['approvals', 'deny', id]);
  expect((await workspace.deploy()).status).toBe(5);
  expect(await last()).toEqual({ by: 'person', how: 'record', at });
  await wield(workspace, ['approvals', 'approve', id]);
  // The time of the answer, not that of the call.
  const answered = Date.now();
  await sleep(20);
  await workspace.deploy();
  expect(await last()).toEqual({ by: 'person', how: 'record', at });
  expect(Date.parse((await last()).at)).toBeLessThanOrEqual(answered);
  await wield(workspace, ['call', 'deploy', '--branch', 'x', '--yes']);
  expect(await last()).toEqual({ by: 'person', how: 'yes', at });
  const client = await connectAsking(workspace, 'older', 'stdio', () => ({ action: 'decline' }));
  expect((await client.callTool({ name: 'deploy', arguments: { branch: 'y' } })).isError).toBe(true);
  expect(await last()).toEqual({ by: 'person', how: 'mcp', at });
  workspace.config('[trust]\nrules = "deploy($deny)"\n');
  await workspace.deploy();
  expect(await last()).toEqual({ by: 'rule', how: null, at: null });
  workspace.config('');
  await workspace.deploy();
  expect(await last()).toEqual({ by: 'default', how: null, at: null });
});

finding('B28', 'an answer of code is recorded as one, whatever the function says about itself', async () => {
  const workspace = createAskingWorkspace();
  const toolbox = workspace.toolbox({ trust: true });
  const last = async () => json(await wield(workspace, ['audit', '--json'])).records.at(-1);
  for (const by of ['terminal', 'page', 'mcp', 'yes', 'record', 'standing', 'Ada', undefined])
    for (const given of ['once', 'deny'] as const) {
      const approve = Object.assign(async () => given, { by });
      expect((await toolbox.call('deploy', { branch: 'y' }, { approve })).ok).toBe(given === 'once');
      const { decision, approval } = await last();
      expect([by, decision.by, decision.how]).toEqual([by, 'code', 'code']);
      expect(approval?.by ?? 'code').toBe('code');
    }
});

finding('B12', 'a guess of a secret cannot be tested against the digests of a stored call', async () => {
  // The same call of the same tool in the same place, under another key, has other digests and another id.
  const workspace = createAskingWorkspace();
  workspace.script('pay', shellScript(':', '@param pin string'));
  workspace.config('[trust]\nrules = "*"\n');
  const ask = async () => {
    const toolbox = workspace.toolbox({ trust: true });
    await toolbox.call('pay', { pin: '4711' }, { caller: MODEL });
    const [asked] = toolbox.state.approvals.list();
    const { id, record } = asked!;
    rmSync(join(workspace.home, '.wield/approvals'), { recursive: true });
    return { id, inputDigest: record.inputDigest, planDigest: record.planDigest };
  };
  const first = await ask();
  expect(await ask()).toEqual(first);
  const key = join(workspace.home, '.wield/approvals.key');
  expect(statSync(key).mode & 0o777).toBe(0o600);
  // A damaged key is replaced.
  writeFileSync(key, 'x');
  const second = await ask();
  for (const name of ['id', 'inputDigest', 'planDigest'] as const) expect(second[name]).not.toBe(first[name]);
  expect(readFileSync(key, 'utf8')).toMatch(/^[0-9a-f]{64}$/);
});
