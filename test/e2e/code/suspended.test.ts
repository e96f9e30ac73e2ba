// Programs that wait for approvals: suspended, approved, and continued in another process.

import { existsSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect } from 'vitest';
import { digestKeyed } from '../../../src/files/digest.js';
import { textOf } from '../../../src/index.js';
import { wield } from '../../support/cli.js';
import { ACCEPT, connectAsking, connectProcess, type ProtocolVersion } from '../../support/clients.js';
import { some } from '../../support/effort.js';
import { createProgramWorkspace, MODEL, returned, runAsModel, say } from '../../support/programs.js';
import { spec } from '../../support/spec.js';
import type { Workspace } from '../../support/workspace.js';

const VERSIONS: readonly ProtocolVersion[] = ['older', 'newer'];
const CODE = ['--trust', '--mode', 'code'];
// Counts what ran before the suspension, in a tool that needs no approval.
const PROGRAM = `const before = [await tools.note({ text: 'one' }), Math.random(), Date.now()];
const deployed = await Promise.all(['a', 'b', 'c'].map((branch) => tools.deploy({ branch })));
console.log('deployed');
return { deployed, last: await tools.note({ text: 'two' }), same: before[1] > 0 };`;

function createNotingWorkspace(): Workspace {
  const workspace = createProgramWorkspace();
  workspace.script(
    'note',
    '#!/bin/sh\n# @description Note a text.\n# @param *text string Text\necho "$WIELD_PARAM_TEXT" >> notes\n',
  );
  return workspace;
}

const linesOf = (workspace: Workspace, name: string): string[] => {
  const file = join(workspace.dir, name);
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').sort() : [];
};
const programsOf = ({ env }: Workspace): string[] => {
  const directory = join(env.WIELD_HOME!, 'programs');
  return existsSync(directory) ? readdirSync(directory).filter((name) => name.endsWith('.json')) : [];
};

/** Changes a suspended program, sealed again with the key of the state. */
function rewrite(workspace: Workspace, change: (text: string) => string): void {
  const home = workspace.env.WIELD_HOME!;
  const file = join(home, 'programs', programsOf(workspace)[0]!);
  const [, text = ''] = readFileSync(file, 'utf8').split(/\n(.*)/s);
  const key = readFileSync(join(home, 'approvals.key'), 'utf8');
  const changed = change(text);
  writeFileSync(file, `${digestKeyed(key, ['program', basename(file), changed])}\n${changed}`);
}

async function suspend(workspace: Workspace, program = PROGRAM): Promise<string> {
  const toolbox = workspace.toolbox({ trust: true, mode: 'code' });
  const { error } = await runAsModel(toolbox, program);
  await toolbox.close();
  expect(error).toMatchObject({ code: 'needs_approval' });
  return String(error!.data!.resume);
}

async function approveAll(workspace: Workspace): Promise<void> {
  const toolbox = workspace.toolbox();
  const approvals = toolbox.state.approvals;
  for (const { id, state } of approvals.list()) if (state === 'pending') await approvals.approve(id, false);
}

const resume = (workspace: Workspace, id: string, more = {}) =>
  runAsModel(workspace.toolbox({ trust: true, mode: 'code' }), '', { resume: id, ...more });

describe('suspended programs', () => {
  spec('COD-10 COD-13', 'wait for approval, and continue in another process', async () => {
    const workspace = createNotingWorkspace();
    const first = await connectProcess(workspace, 'newer', CODE);
    const { error } = await say(first, 'run_code', { code: PROGRAM });
    await first.close();
    expect(error).toMatchObject({ code: 'needs_approval', message: expect.stringContaining('3 calls of deploy') });
    const { resume: id, approvals } = error!.data!;
    expect(error!.hint).toContain(`wield approvals approve ${approvals![0]!.id} --all-like-this`);
    expect([linesOf(workspace, 'ran'), linesOf(workspace, 'notes')]).toEqual([[], ['one']]);
    const listed = (await wield(workspace, ['approvals'])).stdout;
    expect(listed).toContain('3 calls of one program; first: {"branch":"');
    expect(listed.trim().split('\n')).toHaveLength(2);
    expect((await wield(workspace, ['approvals', 'approve', approvals![1]!.id, '--all-like-this'])).stdout).toBe(
      '  approved 3 calls; the program goes on when it is resumed\n',
    );
    const second = await connectProcess(workspace, 'newer', CODE);
    const { text, error: failed } = await say(second, 'run_code', { resume: id });
    expect(failed).toBe(undefined);
    expect(text).toBe('{"deployed":["a","b","c"],"last":"","same":true}\n\nconsole:\ndeployed');
    expect([linesOf(workspace, 'ran'), linesOf(workspace, 'notes')]).toEqual([
      ['a', 'b', 'c'],
      ['one', 'two'],
    ]);
    expect(programsOf(workspace)).toEqual([]);
    // Its answer is kept, and nothing runs again.
    const again = await say(second, 'run_code', { resume: id });
    expect(again.text).toMatch(
      /^\{"deployed":\["a","b","c"\],"last":"","same":true\}\n\nconsole:\ndeployed\n\n\(the program ended/,
    );
    expect(linesOf(workspace, 'notes')).toEqual(['one', 'two']);
  });

  spec('COD-14', 'their answer is kept for the caller, for a day, and the same code is a new program', async () => {
    const workspace = createNotingWorkspace();
    let now = Date.now();
    const toolbox = workspace.toolbox({ trust: true, mode: 'code', now: () => now });
    const code = `await tools.deploy({ branch: 'a' }); const big = 'x'.repeat(50000); console.log('log'); throw new Error(big.slice(0, 9))`;
    const first = await runAsModel(toolbox, code);
    const id = String(first.error!.data!.resume);
    await approveAll(workspace);
    const failed = await runAsModel(toolbox, '', { resume: id });
    expect(failed.error).toMatchObject({ code: 'tool_failed', message: expect.stringContaining('xxxxxxxxx (line 1)') });
    const again = await resume(workspace, id);
    expect(again.error).toEqual(failed.error);
    expect(again.structured).toEqual({
      ...(failed.structured as object),
      program: { ...(failed.structured as { program: object }).program, ended: now },
    });
    expect(textOf(again)).toContain('calls: deploy ok');
    expect(linesOf(workspace, 'ran')).toEqual(['a']);
    const other = { caller: { ...MODEL, name: 'somebody' } };
    expect((await resume(workspace, id, other)).error).toMatchObject({ code: 'not_found' });
    const elsewhere = workspace.toolbox({ workdir: createNotingWorkspace().dir, trust: true, mode: 'code' });
    expect((await runAsModel(elsewhere, '', { resume: id })).error).toMatchObject({ code: 'not_found' });
    expect((await runAsModel(toolbox, code, other)).error).toMatchObject({ code: 'needs_approval' });
    // This process lives, so the answer was delivered.
    const next = await runAsModel(toolbox, code);
    expect(next.error).toMatchObject({ code: 'needs_approval', data: { resume: expect.not.stringContaining(id) } });
    // Unless the process that has the answer was killed, in the last hour.
    const directory = join(workspace.env.WIELD_HOME!, 'programs');
    await approveAll(workspace);
    const second = String(next.error!.data!.resume);
    expect((await runAsModel(toolbox, '', { resume: second })).error).toMatchObject({ code: 'tool_failed' });
    writeFileSync(join(directory, `${second}.claim`), '999999999 1 x');
    now += 59 * 60_000;
    expect((await runAsModel(toolbox, code)).error).toMatchObject({ code: 'tool_failed' });
    writeFileSync(join(directory, `${second}.claim`), '999999999 1 x');
    now += 2 * 60_000;
    expect((await runAsModel(toolbox, code)).error).toMatchObject({ code: 'needs_approval' });
    expect(linesOf(workspace, 'ran')).toEqual(['a', 'a']);
    now += 24 * 3_600_000;
    expect((await runAsModel(toolbox, '', { resume: id })).error).toMatchObject({ code: 'not_found' });
    const answer = readdirSync(directory).find((name) => name.startsWith(second) && name.endsWith('.answer'))!;
    writeFileSync(
      join(directory, answer),
      readFileSync(join(directory, answer), 'utf8').replace('xxxxxxxxx', 'yyyyyyyyy'),
    );
    expect((await resume(workspace, second)).error).toMatchObject({ code: 'integrity' });
  });

  spec.thorough('COD-14', 'large results from before can be read after a restart', async () => {
    const workspace = createNotingWorkspace();
    const code = `const orders = await tools.orders(); await tools.deploy({ branch: 'a' });
      return { sum: await orders.query('$sum($)'), length: (await orders.json()).length, page: (await orders.page(3)).slice(0, 4), id: orders.id };`;
    const inSession = (session: string) => ({ caller: { ...MODEL, session } });
    const toolbox = workspace.toolbox({ trust: true, mode: 'code' });
    const { error } = await runAsModel(toolbox, code, inSession('one'));
    await approveAll(workspace);
    const value = returned(await resume(workspace, String(error!.data!.resume), inSession('two')));
    expect(value).toMatchObject({ sum: 40504500, length: 9000, page: '1,2,' });
    const read = (session: string) =>
      toolbox.call('read_result', { id: (value as { id: string }).id }, inSession(session));
    expect((await read('two')).ok).toBe(true);
    expect((await read('one')).error).toMatchObject({ code: 'not_found' });
  });

  spec.thorough(
    'COD-10 COD-11',
    'start over if they expired, ask again if their approval did, and survive a torn journal',
    async () => {
      const workspace = createNotingWorkspace();
      let now = Date.now();
      const toolbox = workspace.toolbox({ trust: true, mode: 'code', now: () => now });
      const code = `await tools.note({ text: 'one' }); return tools.deploy({ branch: 'a' })`;
      const { error } = await runAsModel(toolbox, code);
      const { resume: id, approvals } = error!.data as { resume: string; approvals: { id: string }[] };
      await toolbox.state.approvals.approve(approvals[0]!.id, false);
      // Longer than an approval can be used.
      now += 2 * 24 * 3_600_000;
      const asked = await runAsModel(toolbox, '', { resume: id });
      expect(asked.error).toMatchObject({ code: 'needs_approval', data: { resume: id } });
      const [again] = asked.error!.data!.approvals as { id: string }[];
      const journal = join(workspace.env.WIELD_HOME!, 'programs', `${id}.journal`);
      writeFileSync(journal, '0123456789 {"call":{"id":"é');
      await toolbox.state.approvals.approve(again!.id, false);
      expect(returned(await runAsModel(toolbox, '', { resume: id }))).toBe('a');
      expect([linesOf(workspace, 'notes'), linesOf(workspace, 'ran')]).toEqual([['one'], ['a']]);
      const late = await runAsModel(toolbox, code);
      now += 9 * 24 * 3_600_000;
      expect((await runAsModel(toolbox, '', { resume: String(late.error!.data!.resume) })).error?.code).toBe(
        'not_found',
      );
      expect((await runAsModel(toolbox, code)).error).toMatchObject({ code: 'needs_approval' });
      expect(linesOf(workspace, 'notes')).toEqual(['one', 'one', 'one']);
    },
  );

  for (const protocol of some(VERSIONS, 1)) {
    spec('COD-10 SRV-15', `ask by a form if the client can show one (${protocol} protocol)`, async () => {
      const workspace = createNotingWorkspace();
      workspace.config('mode = "code"\n');
      const questions: string[] = [];
      const client = await connectAsking(workspace, protocol, 'stdio', (message) => {
        questions.push(message);
        // Stored before anybody is asked.
        expect(programsOf(workspace)).toHaveLength(1);
        return message.includes('"b"') ? { action: 'decline' } : ACCEPT;
      });
      const code = `return Promise.all(['a', 'b'].map((branch) => tools.deploy({ branch }).catch((error) => error.code)))`;
      expect((await say(client, 'run_code', { code })).text).toBe('["a","denied"]');
      expect(questions).toHaveLength(2);
      expect(linesOf(workspace, 'ran')).toEqual(['a']);
      expect(programsOf(workspace)).toEqual([]);
      expect((await wield(workspace, ['approvals'])).stdout).toBe('No pending approvals.\n');
    });
  }

  spec.thorough('COD-10', 'the same code continues, approved calls run once, and a refusal is an error', async () => {
    const workspace = createNotingWorkspace();
    const id = await suspend(workspace);
    const toolbox = workspace.toolbox({ trust: true, mode: 'code' });
    // Still suspended, by the same id, and nothing ran.
    const again = await runAsModel(toolbox, PROGRAM);
    expect(again.error?.data).toMatchObject({ resume: id });
    const approvals = toolbox.state.approvals;
    const [a, b, c] = again.error!.data!.approvals as { id: string }[];
    await approvals.approve(a!.id, false);
    // One of three: it runs, and the others are still asked for.
    expect((await runAsModel(toolbox, PROGRAM)).error?.data).toMatchObject({ resume: id, approvals: [b, c] });
    await approvals.approve(b!.id, false);
    await approvals.deny(c!.id);
    const failed = await runAsModel(toolbox, PROGRAM);
    expect(failed.error).toMatchObject({ code: 'denied' });
    expect([linesOf(workspace, 'ran'), linesOf(workspace, 'notes')]).toEqual([['a', 'b'], ['one']]);
    expect(programsOf(workspace)).toEqual([]);
  });

  spec('COD-10', 'a program belongs to its caller, and is resumed only as it was stored', async () => {
    const workspace = createNotingWorkspace();
    const id = await suspend(workspace);
    await approveAll(workspace);
    const other = { caller: { ...MODEL, name: 'somebody' } };
    expect((await resume(workspace, id, other)).error).toMatchObject({ code: 'not_found' });
    const person = await wield(workspace, ['run', '--resume', id]);
    expect(person).toMatchObject({ status: 3 });
    const directory = join(workspace.env.WIELD_HOME!, 'programs');
    const file = join(directory, programsOf(workspace)[0]!);
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('note', 'evil'));
    expect((await resume(workspace, id)).error).toMatchObject({ code: 'integrity' });
    // Another program of the same caller, whose call is not approved.
    const second = await suspend(workspace, `return tools.deploy({ branch: 'z' })`);
    const moved = programsOf(workspace).find((name) => name.startsWith(second))!;
    writeFileSync(join(directory, moved), text);
    expect((await resume(workspace, second)).error).toMatchObject({ code: 'integrity' });
    unlinkSync(join(directory, moved));
    writeFileSync(file, text);
    // Claimed by a process that lives: this one.
    writeFileSync(join(directory, `${id}.claim`), `${process.pid} 0 x`);
    expect((await resume(workspace, id)).error).toMatchObject({ code: 'busy' });
    writeFileSync(join(directory, `${id}.claim`), '999999999 1 x');
    expect(returned(await resume(workspace, id))).toMatchObject({ deployed: ['a', 'b', 'c'] });
    expect(linesOf(workspace, 'ran')).toEqual(['a', 'b', 'c']);
  });

  spec('COD-10 COD-11', 'a program belongs to its workdir, and of many that resume it one does', async () => {
    const workspace = createNotingWorkspace();
    const id = await suspend(workspace, `await tools.deploy({ branch: 'a' }); return tools.note({ text: 'end' })`);
    await approveAll(workspace);
    const other = createNotingWorkspace();
    const elsewhere = workspace.toolbox({ workdir: other.dir, trust: true, mode: 'code' });
    expect((await runAsModel(elsewhere, '', { resume: id })).error).toMatchObject({ code: 'not_found' });
    const results = await Promise.all([1, 2, 3].map(() => resume(workspace, id)));
    // One that comes after the end gets the answer.
    const codes = results.map(({ error }) => error?.code ?? 'ended');
    expect(codes).toContain('ended');
    expect(codes.filter((code) => !['busy', 'ended'].includes(code))).toEqual([]);
    expect([linesOf(workspace, 'ran'), linesOf(workspace, 'notes'), linesOf(other, 'notes')]).toEqual([
      ['a'],
      ['end'],
      [],
    ]);
  });

  spec('COD-10', 'an approval is bound to the plan: a changed tool asks again', async () => {
    const workspace = createNotingWorkspace();
    const id = await suspend(workspace, `return tools.deploy({ branch: 'a' })`);
    await approveAll(workspace);
    const text = readFileSync(join(workspace.dir, '.agents/tools/deploy'), 'utf8');
    workspace.script('deploy', `${text}\necho changed >> ran\n`);
    const { error } = await resume(workspace, id);
    expect(error).toMatchObject({ code: 'needs_approval', data: { resume: id } });
    expect(linesOf(workspace, 'ran')).toEqual([]);
  });

  spec('COD-12', 'with another engine the journal is replayed, and a divergence is an error', async () => {
    const workspace = createNotingWorkspace();
    const id = await suspend(workspace);
    rewrite(workspace, (text) => text.replace(/"engine":"\w+"/, '"engine":"older"'));
    const asked = await resume(workspace, id);
    expect(asked.error).toMatchObject({ code: 'needs_approval' });
    expect(linesOf(workspace, 'notes')).toEqual(['one']);
    rewrite(workspace, (text) =>
      text.replace(/"engine":"\w+"/, '"engine":"older"').replace('{"text":"one"}', '{"text":"won"}'),
    );
    const diverged = await resume(workspace, id);
    expect(diverged.error).toMatchObject({ code: 'conflict', data: { divergence: 1 } });
    expect(diverged.error!.message).toContain('note({"text":"one"}) instead of note({"text":"won"})');
    rewrite(workspace, (text) => text.replace('{"text":"won"}', '{"text":"one"}'));
    await approveAll(workspace);
    expect(returned(await resume(workspace, id))).toMatchObject({ deployed: ['a', 'b', 'c'], same: true });
    expect([linesOf(workspace, 'ran'), linesOf(workspace, 'notes')]).toEqual([
      ['a', 'b', 'c'],
      ['one', 'two'],
    ]);
  });

  spec('COD-10', 'a person is told how to go on', async () => {
    const workspace = createNotingWorkspace();
    workspace.config('trust.rules = ["deploy"]\n');
    workspace.write('p.ts', `return tools.deploy({ branch: 'a' })`);
    const run = await wield(workspace, ['run', 'p.ts']);
    expect(run.status).toBe(5);
    const id = /wield run --resume (p_\w+)/.exec(run.stderr)![1]!;
    await approveAll(workspace);
    expect(await wield(workspace, ['run', '--resume', id])).toMatchObject({ status: 0, stdout: 'a\n' });
  });
});
