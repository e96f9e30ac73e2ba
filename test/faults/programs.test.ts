// Programs whose processes are killed: no call runs twice, and none is lost silently.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { describe, expect } from 'vitest';
import { ACCEPT, connectPerson, connectProcess } from '../support/clients.js';
import { patience } from '../support/patience.js';
import { ownEngines } from '../support/processes.js';
import { createProgramWorkspace, returned, runAsModel, say } from '../support/programs.js';
import { shellScript } from '../support/shell-script.js';
import { spec } from '../support/spec.js';
import type { Workspace } from '../support/workspace.js';

const CODE = ['--trust', '--mode', 'code'];

const linesOf = ({ dir }: Workspace, name: string): string[] =>
  existsSync(join(dir, name)) ? readFileSync(join(dir, name), 'utf8').trim().split('\n') : [];

/** A workspace with a tool that notes its start and then waits for a file. */
function createSlowWorkspace(): Workspace {
  const workspace = createProgramWorkspace();
  workspace.script('note', shellScript('echo "$WIELD_PARAM_TEXT" >> notes', '@param *text string Text'));
  workspace.script(
    'slow',
    shellScript('echo start >> slow; while [ ! -e go ]; do sleep 0.05; done; echo end >> slow', '@destructive'),
  );
  return workspace;
}

async function approveAll(workspace: Workspace): Promise<void> {
  const toolbox = workspace.toolbox();
  const approvals = toolbox.state.approvals;
  for (const { id, state } of approvals.list()) if (state === 'pending') await approvals.approve(id, false);
}

/** Kills the server of a client. */
function kill(client: Client): void {
  process.kill((client.transport as unknown as { pid: number }).pid, 'SIGKILL');
}

describe('killed', () => {
  spec('COD-3 COD-11', 'the engine: the program fails and names the calls that ran', async () => {
    const workspace = createSlowWorkspace();
    workspace.config('trust.rules = ["slow($policy=allow)"]\n');
    const toolbox = workspace.toolbox({ trust: true, mode: 'code' });
    // Those of tests before this one may still be ending.
    const others = new Set(ownEngines());
    const running = runAsModel(toolbox, `await tools.note({ text: 'one' }); await tools.slow(); return 1`);
    await expect.poll(() => linesOf(workspace, 'slow'), { timeout: patience(60_000) }).toEqual(['start']);
    const started = ownEngines().filter((pid) => !others.has(pid));
    expect(started).toHaveLength(1);
    process.kill(started[0]!, 'SIGKILL');
    workspace.write('go', '');
    const { error, structured } = await running;
    expect(error).toMatchObject({ code: 'exec_failed', message: expect.stringContaining('engine') });
    expect(structured).toMatchObject({
      calls: [
        { tool: 'note', ran: 'ok' },
        { tool: 'slow', ran: 'ok' },
      ],
    });
    expect(linesOf(workspace, 'slow')).toEqual(['start', 'end']);
    // The next program has an engine of its own.
    expect(returned(await runAsModel(toolbox, 'return 2'))).toBe(2);
  });

  spec.thorough(
    'COD-10 COD-11',
    'the server, between the snapshot and the answer: it is not resumed before, and the same code continues',
    async () => {
      const workspace = createSlowWorkspace();
      const code = `await tools.note({ text: 'one' }); return tools.deploy({ branch: 'a' })`;
      let asked = 0;
      const client = await connectProcessAsking(workspace, () => {
        asked++;
        return new Promise(() => {});
      });
      const lost = say(client, 'run_code', { code }).catch((error: Error) => error);
      const questions: string[] = [];
      const next = await connectProcessAsking(workspace, (message) => {
        questions.push(message);
        return ACCEPT;
      });
      await expect.poll(() => asked, { timeout: patience(30_000) }).toBe(1);
      // Also the first program of a machine belongs to its process as soon as others can see it.
      const [resume] = readdirSync(join(workspace.env.WIELD_HOME!, 'programs')).flatMap(
        (name) => name.match(/^p_\w+/) ?? [],
      );
      expect((await say(next, 'run_code', { resume })).error).toMatchObject({ code: 'busy' });
      kill(client);
      expect(await lost).toBeInstanceOf(Error);
      expect((await say(next, 'run_code', { code })).text).toBe('a');
      expect(questions).toHaveLength(1);
      expect([linesOf(workspace, 'notes'), linesOf(workspace, 'ran')]).toEqual([['one'], ['a']]);
    },
  );

  spec.thorough(
    'COD-11',
    'the server, during an approved call: that call is not repeated, and the program is told',
    async () => {
      const workspace = createSlowWorkspace();
      const code = `await tools.note({ text: 'one' });
      const [slow, deployed] = await Promise.all([tools.slow().catch((error) => error.message), tools.deploy({ branch: 'a' })]);
      await tools.note({ text: 'two' });
      return { slow, deployed };`;
      const first = await connectProcess(workspace, 'newer', CODE);
      const { error } = await say(first, 'run_code', { code });
      await approveAll(workspace);
      const lost = say(first, 'run_code', { resume: error!.data!.resume }).catch((failure: Error) => failure);
      await expect
        .poll(() => [...linesOf(workspace, 'slow'), ...linesOf(workspace, 'ran')], { timeout: patience(30_000) })
        .toEqual(['start', 'a']);
      // The result of deploy is in the journal.
      const journal = join(workspace.env.WIELD_HOME!, 'programs', `${error!.data!.resume}.journal`);
      await expect.poll(() => readFileSync(journal, 'utf8')).toContain('"outcome"');
      kill(first);
      expect(await lost).toBeInstanceOf(Error);
      const second = await connectProcess(workspace, 'newer', CODE);
      const { text, error: failed } = await say(second, 'run_code', { resume: error!.data!.resume });
      expect(failed).toBe(undefined);
      expect(JSON.parse(text)).toEqual({ slow: expect.stringContaining('slow may have run'), deployed: 'a' });
      expect([linesOf(workspace, 'notes'), linesOf(workspace, 'ran')]).toEqual([['one', 'two'], ['a']]);
      expect(linesOf(workspace, 'slow')).toEqual(['start']);
    },
  );

  spec.thorough(
    'COD-14',
    'the server, after the last call: the next one gives the answer, and runs nothing',
    async () => {
      const workspace = createSlowWorkspace();
      const code = `await tools.note({ text: 'one' }); return tools.deploy({ branch: 'a' })`;
      const first = await connectProcess(workspace, 'newer', CODE);
      const { error } = await say(first, 'run_code', { code });
      await approveAll(workspace);
      const lost = say(first, 'run_code', { resume: error!.data!.resume }).catch(() => undefined);
      const files = (): string[] => readdirSync(join(workspace.env.WIELD_HOME!, 'programs'));
      await expect
        .poll(files, { timeout: patience(60_000), interval: 2 })
        .toContainEqual(expect.stringMatching(/\.answer$/));
      kill(first);
      await lost;
      const second = await connectProcess(workspace, 'newer', CODE);
      const again = await say(second, 'run_code', { code });
      expect(again.text).toMatch(/^a\n\n\(the program ended at .*; this is its answer, and nothing was run again\)$/);
      expect((await say(second, 'run_code', { resume: error!.data!.resume })).text).toBe(again.text);
      expect([linesOf(workspace, 'notes'), linesOf(workspace, 'ran')]).toEqual([['one'], ['a']]);
    },
  );
});

async function connectProcessAsking(
  workspace: Workspace,
  answer: (message: string) => typeof ACCEPT | Promise<typeof ACCEPT>,
): Promise<Client> {
  return connectPerson(workspace, 'older', 'process', ({ message }) => answer(message), { args: CODE });
}
