// Tests of calling the tools of models at the shell.

import { expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

function create(): Workspace {
  const workspace = createWorkspace();
  workspace.script(
    'hello',
    '#!/bin/sh\n# @description Say hello.\n# @param *name string Who\necho "hi $WIELD_PARAM_NAME"\n',
  );
  workspace.script('wipe', '#!/bin/sh\n# @description Wipe.\n# @destructive\necho wiped\n');
  workspace.write(
    '.agents/skills/notes/SKILL.md',
    '---\nname: notes\ndescription: Take notes.\n---\nWrite them down.\n',
  );
  workspace.write('.agents/skills/notes/ref/style.md', 'Be brief.\n');
  workspace.write('.agents/skills/notes/scripts/count.sh', shellScript('echo "$# $1 $2"'), 0o755);
  workspace.config('[trust]\nrules = "wipe($deny)"\n');
  return workspace;
}

const WHOLE = '{"name":"hello","input":{"name":"Ada"}}';

spec('CLI-35', 'call_tool takes its input in every form', async () => {
  const workspace = create();
  for (const [args, stdin] of [
    [['call', 'call_tool', '--name', 'hello', '--input', '{"name":"Ada"}']],
    [['call', 'call_tool', 'hello', '--input', '{"name":"Ada"}']],
    [['call', 'call_tool', 'hello', '--input.name', 'Ada']],
    [['call', 'call_tool', '--input', WHOLE]],
    [['call', '--input', WHOLE, 'call_tool']],
    [['call', 'call_tool'], WHOLE],
    [['call-tool', 'hello', '--input', '{"name":"Ada"}']],
  ] as const) {
    const run = await wield(workspace, args, stdin === undefined ? {} : { stdin });
    expect([args, run.status, run.stdout, run.stderr]).toEqual([args, 0, 'hi Ada\n', '']);
    const document = json(await wield(workspace, [...args, '--json'], stdin === undefined ? {} : { stdin }));
    expect(document).toMatchObject({ ok: true, content: [{ type: 'text', text: expect.stringContaining('hi Ada') }] });
  }
});

spec('CLI-35', 'call_tool is under the rules of the tool that it names, and shows its plan', async () => {
  const workspace = create();
  expect((await wield(workspace, ['call', 'call_tool', 'wipe'])).status).toBe(5);
  const dry = await wield(workspace, ['call', 'call_tool', 'hello', '--input', '{"name":"Ada"}', '--dry-run']);
  expect([dry.status, dry.stdout]).toEqual([0, expect.stringContaining('.agents/tools/hello')]);
  const wrong = await wield(workspace, ['call', 'call_tool', 'helo']);
  expect([wrong.status, wrong.stderr]).toEqual([3, expect.stringContaining('hello')]);
});

spec('CLI-35', 'search, skills and programs are called like any tool', async () => {
  const workspace = create();
  for (const [args, shown] of [
    [['search_tools', 'say hello'], 'hello'],
    [['search_tools', '--queries', 'hello', '--queries', 'wipe'], 'hello'],
    [['search_tools', '--input', '{"queries":["hello"]}'], 'hello'],
    [['describe_tool', 'hello'], 'Say hello.'],
    [['read_skill', 'notes'], 'Write them down.'],
    [['read_skill', 'notes', 'ref/style.md'], 'Be brief.'],
    [['read_skill', '--skill-name', 'notes'], 'Write them down.'],
    [['run_skill_script', 'notes', 'scripts/count.sh', 'a', 'b'], '2 a b'],
    [['run_skill_script', '--input', '{"skill_name":"notes","script":"scripts/count.sh","args":["a"]}'], '1 a'],
    [['run_code', 'return await tools.hello({ name: "Ada" })'], 'hi Ada'],
    [['run_code', '--code', 'return 6 * 7'], '42'],
  ] as const) {
    const run = await wield(workspace, ['call', ...args]);
    expect([args, run.status, run.stdout]).toEqual([args, 0, expect.stringContaining(shown)]);
  }
});
