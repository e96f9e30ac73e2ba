// Programs that wait for approvals: what they take on the disk, whom they hinder, and that none runs twice.

import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../src/index.js';
import { connectProcess } from '../support/clients.js';
import { patience } from '../support/patience.js';
import { createProgramWorkspace, MODEL, returned, runAsModel, say } from '../support/programs.js';
import { shellScript } from '../support/shell-script.js';
import { spec } from '../support/spec.js';
import type { Workspace } from '../support/workspace.js';

const MB = 1024 * 1024;

const directoryOf = ({ env }: Workspace): string => join(env.WIELD_HOME!, 'programs');
const filesOf = (workspace: Workspace): string[] =>
  existsSync(directoryOf(workspace))
    ? readdirSync(directoryOf(workspace)).filter((name) => name.endsWith('.json'))
    : [];
const linesOf = ({ dir }: Workspace, name: string): string[] =>
  existsSync(join(dir, name)) ? readFileSync(join(dir, name), 'utf8').trim().split('\n') : [];

async function approveAll(workspace: Workspace): Promise<void> {
  const approvals = workspace.toolbox().state.approvals;
  for (const { id, state } of approvals.list()) if (state === 'pending') await approvals.approve(id, false);
}

function createNotingWorkspace(): Workspace {
  const workspace = createProgramWorkspace();
  workspace.script('note', shellScript('echo "$WIELD_PARAM_TEXT" >> notes', '@param *text string Text'));
  workspace.script(
    'slow',
    shellScript('echo start >> slow; while [ ! -e go ]; do sleep 0.05; done; echo end >> slow', '@destructive'),
  );
  return workspace;
}

/** Creates files as of suspended programs, without content: reading one fails. Returns their ids, oldest first. */
function plant(workspace: Workspace, owner: string, count: number, bytes: number): string[] {
  mkdirSync(directoryOf(workspace), { recursive: true, mode: 0o700 });
  return Array.from({ length: count }, (_, at) => {
    const id = `p_${createHash('sha256').update(`${owner} ${at}`).digest('hex').slice(0, 16)}`;
    const path = join(directoryOf(workspace), `${id}-${owner}-${'0'.repeat(16)}.json`);
    writeFileSync(path, '', { mode: 0o600 });
    truncateSync(path, bytes);
    const seconds = Date.now() / 1000 - 3600 + at;
    utimesSync(path, seconds, seconds);
    return id;
  });
}

describe('what suspended programs take', () => {
  spec('COD-15', 'a program with much memory is small on the disk, and continues all the same', async () => {
    const workspace = createNotingWorkspace();
    const toolbox = workspace.toolbox({ trust: true, mode: 'code' });
    const code = `await tools.note({ text: 'one' });
      const all = new Float64Array(1e6);
      for (let at = 0; at < all.length; at++) all[at] = Math.random();
      const deployed = await tools.deploy({ branch: 'a' });
      return [deployed, all.length, all[0] === all.at(-1), all.at(-1)]`;
    const { error } = await runAsModel(toolbox, code);
    expect(error).toMatchObject({ code: 'needs_approval' });
    const [file] = filesOf(workspace);
    expect(statSync(join(directoryOf(workspace), file!)).size).toBeLessThan(MB);
    await approveAll(workspace);
    const [deployed, length, same, last] = returned(
      await runAsModel(toolbox, '', { resume: error!.data!.resume }),
    ) as unknown[];
    expect([deployed, length, same]).toEqual(['a', 1e6, false]);
    expect(last).toBeGreaterThan(0);
    expect([linesOf(workspace, 'notes'), linesOf(workspace, 'ran')]).toEqual([['one'], ['a']]);
  });

  spec('COD-15', 'a program whose calls and results are too large does not wait, and nothing is asked', async () => {
    const workspace = createNotingWorkspace();
    workspace.script('much', shellScript('echo "$WIELD_PARAM_TEXT" | wc -c', '@param *text string Text'));
    const toolbox = workspace.toolbox({ trust: true, mode: 'code' });
    const code = `const text = 'x'.repeat(3e6);
      for (let at = 0; at < 3; at++) await tools.$search(text).catch(() => 0);
      return tools.deploy({ branch: 'a' })`;
    const { error } = await runAsModel(toolbox, code);
    expect(error).toMatchObject({ code: 'too_large', message: expect.stringContaining('cannot wait for approval') });
    expect(filesOf(workspace)).toEqual([]);
    expect(toolbox.state.approvals.list()).toEqual([]);
    // Also after it has waited.
    const later = `await tools.deploy({ branch: 'b' }); const text = 'x'.repeat(3e6);
      for (let at = 0; at < 3; at++) await tools.$search(text).catch(() => 0);
      return tools.note({ text: 'one' })`;
    const { error: waits } = await runAsModel(toolbox, later);
    await approveAll(workspace);
    const ended = await runAsModel(toolbox, '', { resume: waits!.data!.resume });
    expect(ended.error).toMatchObject({ code: 'too_large' });
    expect(textOf(ended)).toContain('deploy ok');
    expect([linesOf(workspace, 'ran'), linesOf(workspace, 'notes')]).toEqual([['b'], []]);
  });

  spec('COD-15', 'a caller with many programs hinders nobody else, and loses its own oldest', async () => {
    const workspace = createNotingWorkspace();
    const others = plant(workspace, 'a'.repeat(16), 64, 4096);
    const toolbox = workspace.toolbox({ trust: true, mode: 'code' });
    const run = (branch: string) =>
      runAsModel(toolbox, `await tools.note({ text: '${branch}' }); return tools.deploy({ branch: '${branch}' })`);
    const first = await run('a');
    expect(first.error).toMatchObject({ code: 'needs_approval', data: { resume: expect.stringMatching(/^p_/) } });
    expect(textOf(first)).not.toContain('cannot be resumed');
    const owner = filesOf(workspace)
      .find((name) => name.startsWith(String(first.error!.data!.resume)))!
      .split('-')[1]!;
    const own = plant(workspace, owner, 64, 4096);
    const second = await run('b');
    expect(second.error).toMatchObject({ code: 'needs_approval' });
    expect(textOf(second)).toContain(`${own[0]} cannot be resumed any more`);
    const left = filesOf(workspace).map((name) => name.slice(0, 18));
    expect(left).toEqual(expect.arrayContaining([...others, String(first.error!.data!.resume)]));
    expect(left).not.toContain(own[0]);
    await approveAll(workspace);
    expect(returned(await runAsModel(toolbox, '', { resume: first.error!.data!.resume }))).toBe('a');
    expect(linesOf(workspace, 'notes')).toEqual(['a', 'b']);
  });

  spec('COD-15', 'the bytes of one caller and of all are limited, and they are not read', async () => {
    const workspace = createNotingWorkspace();
    // More than can be read as one file, or in this time.
    const large = plant(workspace, 'b'.repeat(16), 3, 40_000 * MB);
    const small = Array.from({ length: 6 }, (_, at) => plant(workspace, `${at}`.repeat(16), 1, 60 * MB)[0]!);
    const toolbox = workspace.toolbox({ trust: true, mode: 'code' });
    const { error } = await runAsModel(toolbox, `return tools.deploy({ branch: 'a' })`);
    expect(error).toMatchObject({ code: 'needs_approval' });
    const left = filesOf(workspace).map((name) => name.slice(0, 18));
    for (const id of large) expect(left).not.toContain(id);
    expect(left.filter((id) => small.includes(id))).toHaveLength(4);
    expect(left).toContain(error!.data!.resume);
  });
});

describe('the same code again', () => {
  const code = `await tools.note({ text: 'one' }); await tools.slow(); return 'done'`;

  spec('COD-16', 'is not a second program while the first one runs, in this and in another process', async () => {
    const workspace = createNotingWorkspace();
    const toolbox = workspace.toolbox({ trust: true, mode: 'code' });
    const { error } = await runAsModel(toolbox, code);
    const id = String(error!.data!.resume);
    await approveAll(workspace);
    const running = runAsModel(toolbox, '', { resume: id });
    await expect.poll(() => linesOf(workspace, 'slow'), { timeout: patience(60_000) }).toEqual(['start']);
    const again = await Promise.all([1, 2, 3].map(() => runAsModel(toolbox, code)));
    for (const one of again)
      expect(one.error).toMatchObject({ code: 'busy', message: expect.stringContaining(id), data: { resume: id } });
    const client = await connectProcess(workspace, 'newer', ['--trust', '--mode', 'code']);
    expect((await say(client, 'run_code', { code })).error).toMatchObject({ code: 'busy' });
    // Another caller has programs of its own.
    const other = await runAsModel(toolbox, code, { caller: { ...MODEL, name: 'somebody' } });
    expect(other.error).toMatchObject({ code: 'needs_approval' });
    workspace.write('go', '');
    expect(returned(await running)).toBe('done');
    expect(linesOf(workspace, 'notes')).toEqual(['one', 'one']);
    expect(returned(await runAsModel(toolbox, '', { resume: id }))).toBe('done');
    expect(linesOf(workspace, 'slow')).toEqual(['start', 'end']);
  });

  spec('COD-14 COD-16', 'after the first was cancelled, is told once how it ended', async () => {
    const workspace = createNotingWorkspace();
    const toolbox = workspace.toolbox({ trust: true, mode: 'code' });
    const { error } = await runAsModel(toolbox, code);
    await approveAll(workspace);
    const cancelling = new AbortController();
    const running = runAsModel(toolbox, code, { signal: cancelling.signal });
    await expect.poll(() => linesOf(workspace, 'slow'), { timeout: patience(60_000) }).toEqual(['start']);
    cancelling.abort();
    expect((await running).error).toMatchObject({ code: 'cancelled' });
    // Its call takes a moment to end.
    let again = await runAsModel(toolbox, code);
    while (again.error?.code === 'busy') again = await runAsModel(toolbox, code);
    expect(again.error).toMatchObject({ code: 'cancelled' });
    expect(textOf(again)).toMatch(/note ok.*slow.*nothing was run again/s);
    expect(linesOf(workspace, 'notes')).toEqual(['one']);
    // Then it is meant as a new program.
    const next = await runAsModel(toolbox, code);
    expect(next.error).toMatchObject({
      code: 'needs_approval',
      data: { resume: expect.not.stringContaining(String(error!.data!.resume)) },
    });
  });
});
