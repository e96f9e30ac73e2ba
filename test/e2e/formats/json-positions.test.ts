// Faults of JSON name line and column, wherever the JSON comes from.

import { describe, expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { finding } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const BROKEN = '{\n  "tools": [],\n  "allowlist" {}\n}\n';
const FAULT = 'is not valid JSON: expected ":", found "{"';

describe('JSON that cannot be parsed', () => {
  finding('N6', 'in tools.json, for check, doctor and a listing', async () => {
    const workspace = createWorkspace();
    workspace.write('.agents/skills/a/SKILL.md', '---\nname: a\ndescription: D\n---\n');
    workspace.write('.agents/skills/a/tools.json', BROKEN);
    expect((await wield(workspace, ['check'])).stdout).toContain(`3:15  ${FAULT}`);
    expect((await wield(workspace, ['doctor'])).stdout).toContain('tools.json:3:15');
    const { problems } = json(await wield(workspace, ['list', '--json']));
    expect(problems).toMatchObject([{ line: 3, column: 15, message: FAULT }]);
  });

  finding('N6', 'in .mcp.json, without quoting secrets', async () => {
    const workspace = createWorkspace();
    workspace.write('.mcp.json', '{ "mcpServers": {\n "a": { "env": { "T": "s3cret" "x" } } } }');
    const { stdout } = await wield(workspace, ['doctor']);
    expect(stdout).toMatch(/\.mcp\.json:2:32 +is not valid JSON: expected "," or "}"/);
    expect(stdout).not.toContain('s3cret');
  });

  finding('N6', 'in a manifest of a plugin, for check and add', async () => {
    const workspace = createWorkspace();
    for (const file of ['plugin.json', 'marketplace.json']) {
      workspace.write(`${file}-source/.claude-plugin/${file}`, '{\n "name": "m",\n}');
      const fault = 'is not valid JSON: expected a quoted key, found "}"';
      const added = await wield(workspace, ['add', `./${file}-source`]);
      expect([added.status, added.stderr]).toEqual([2, expect.stringContaining(`${file}:3:1 ${fault}`)]);
      const checked = await wield(workspace, ['check', `${file}-source`]);
      const shown = `  .claude-plugin/${file}:3\n    error    ${fault}\n`;
      expect([checked.status, checked.stdout]).toEqual([1, expect.stringContaining(shown)]);
    }
  });

  finding('N6', 'in --input, in a flag, on stdin and in an example of a header', async () => {
    const workspace = createWorkspace();
    workspace.script('run', '#!/bin/sh\n# @description D\n# @param o object O\n# @example {oops}\ncat\n');
    const inputs: [string[], string, string][] = [
      [['call', 'run', '--input', '{"o": }'], '', '--input is not valid JSON: line 1, column 7: expected a value'],
      [['call', 'run', '--o', '{"a":\n1,}'], '', '--o is not valid JSON: line 2, column 3: expected a quoted key'],
      [['call', 'run', '--input', '-'], '{"o"', 'not valid JSON: line 1, column 5: expected ":", found the end'],
    ];
    for (const [args, stdin, message] of inputs) {
      const run = await wield(workspace, args, { stdin });
      expect(run.status).toBe(2);
      expect(run.stderr).toContain(message);
    }
    expect((await wield(workspace, ['check'])).stdout).toContain('4:12  @example is not valid JSON: line 1, column 2');
  });

  finding('N6', 'in a JSON file that a module imports', async () => {
    const workspace = createWorkspace();
    workspace.write('.agents/tools/data.json', '[1,\n2,]');
    workspace.write(
      '.agents/tools/say.tool.mjs',
      "import data from './data.json' with { type: 'json' };\nexport default { name: 'say', description: 'D', execute: () => data };\n",
    );
    const toolbox = workspace.toolbox({ trust: true });
    await toolbox.list();
    const messages = (await toolbox.catalog.problems()).map(({ message }) => message).join('\n');
    expect(messages).toContain('data.json is not valid JSON: line 2, column 3: expected a value, found "]"');
  });
});
