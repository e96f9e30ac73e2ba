// Scripts that a skill brings, run by a model: around rules, approvals, the audit log and the sandbox.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { type ToolResult, textOf } from '../../src/index.js';
import { logRecords } from '../support/audit.js';
import { wield } from '../support/cli.js';
import { hasBubblewrap, NO_BUBBLEWRAP } from '../support/sandbox-attempts.js';
import { spec, specIf } from '../support/spec.js';
import { createWorkspace } from '../support/workspace.js';

const MODEL = { caller: { kind: 'model', door: 'test' } } as const;
const NOTE = 'echo "$*" >> "$WIELD_WORKDIR/ran"\necho done\n';

/** A trusted workspace with the skill `kit`, whose script appends its arguments to the file `ran`. */
function createKit(config: string, header = '') {
  const workspace = createWorkspace();
  workspace.write('.agents/skills/kit/SKILL.md', `---\nname: kit\ndescription: A kit.\n${header}---\nText.\n`);
  const script = workspace.write('.agents/skills/kit/scripts/note.sh', NOTE);
  workspace.config(config);
  const toolbox = workspace.toolbox({ trust: true });
  const ran = join(workspace.dir, 'ran');
  return {
    workspace,
    script,
    run: (...args: readonly string[]) =>
      toolbox.call('run_skill_script', { skill_name: 'kit', script: 'note.sh', args }, MODEL),
    runs: () => (existsSync(ran) ? readFileSync(ran, 'utf8').split('\n').filter(Boolean) : []),
  };
}

const codeOf = ({ error }: ToolResult): string => error?.code ?? 'ok';

describe.concurrent('a script of a skill', () => {
  spec('SKL-13 POL-4', 'is judged by its own name and arguments', async () => {
    const { run, runs } = createKit('[trust]\nrules = ["kit_note(args=*secret*,$deny)"]\n');
    expect(codeOf(await run('plain'))).toBe('ok');
    expect(codeOf(await run('a', 'the secret'))).toBe('denied');
    expect(runs()).toEqual(['plain']);
    const whole = createKit('[trust]\nrules = ["run_skill_script($deny)"]\n');
    expect(codeOf(await whole.run('x'))).toBe('denied');
    const listed = createKit('allowed-tools = ["run_skill_script", "read_skill"]\n');
    expect(codeOf(await listed.run('x'))).toBe('denied');
    expect([...whole.runs(), ...listed.runs()]).toEqual([]);
  });

  spec('SKL-13 POL-7', 'runs once for an approval of these arguments and these bytes', async () => {
    const { workspace, script, run, runs } = createKit('[trust]\nrules = ["kit_note($policy=ask)"]\n');
    const ask = async (...args: readonly string[]): Promise<string> => {
      const { error } = await run(...args);
      expect(error?.code).toBe('needs_approval');
      return (error!.data as { id: string }).id;
    };
    const approve = async (id: string) => expect((await wield(workspace, ['approvals', 'approve', id])).status).toBe(0);
    await approve(await ask('one'));
    await ask('two');
    expect(runs()).toEqual([]);
    expect(codeOf(await run('one'))).toBe('ok');
    await approve(await ask('one'));
    writeFileSync(script, `${NOTE}echo CHANGED >> "$WIELD_WORKDIR/ran"\n`);
    await ask('one');
    expect(runs()).toEqual(['one']);
  });

  spec('SKL-13 OBS-1', 'is recorded by its own name, and does not run if it cannot be recorded', async () => {
    const { workspace, run, runs } = createKit('');
    await run('one');
    const [record, ...others] = logRecords(workspace).filter(({ tool }) => /kit|skill/.test(tool));
    expect(others).toEqual([]);
    expect(record).toMatchObject({
      tool: 'kit_note',
      format: 'skill-script',
      kind: 'model',
      verdict: 'allow',
      code: null,
    });
    expect(JSON.stringify(record)).toContain('note.sh');
    const silent = createKit('[audit]\nrequired = true\n');
    writeFileSync(join(silent.workspace.env.WIELD_HOME!, 'audit'), 'not a directory');
    expect(codeOf(await silent.run('x'))).not.toBe('ok');
    expect([runs(), silent.runs()]).toEqual([['one'], []]);
  });

  specIf(
    hasBubblewrap(),
    NO_BUBBLEWRAP,
    'SKL-13 EXE-10',
    'runs in the sandbox of a rule, or of its skill',
    async () => {
      const config = '[[sandbox]]\nmatch = "kit_*"\nprofile = "read-only"\n';
      for (const { run, runs, workspace } of [createKit(config), createKit('', 'metadata:\n  sandbox: read-only\n')]) {
        expect(textOf(await run('x'))).toContain('done');
        expect(runs()).toEqual([]);
        expect(logRecords(workspace).find(({ tool }) => tool === 'kit_note')?.sandbox).toContain('bubblewrap');
      }
      const open = createKit('');
      await open.run('x');
      expect(open.runs()).toEqual(['x']);
    },
  );
});
