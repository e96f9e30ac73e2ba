// Results for models with tables in place of JSON, if the configuration asks for it.

import { describe, expect } from 'vitest';
import { defineTool } from '../../../src/index.js';
import { wield } from '../../support/cli.js';
import { callTool, connectStdio } from '../../support/clients.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const ROWS = [1, 2, 3].map((id) => ({ id, country: 'DE', amount: id * 37 }));
const JSON_TEXT = JSON.stringify(ROWS);
const TABLE = '[3]{id,country,amount}:\n  1,DE,37\n  2,DE,74\n  3,DE,111';
const MODEL = { caller: { kind: 'model', door: 'test' }, trust: true } as const;

function createOrders(config: string): Workspace {
  const workspace = createWorkspace();
  workspace.script('orders', shellScript(`printf '%s' '${JSON_TEXT}'`));
  workspace.script('schema', shellScript(`printf '%s' '{"rows":${JSON_TEXT}}'`, '@output {"type":"object"}'));
  workspace.script('broken', shellScript(`printf '%s' '${JSON_TEXT}'; exit 1`));
  for (const [name, rows] of [
    ['many', 900],
    ['spilled', 2000],
  ] as const)
    workspace.script(
      name,
      shellScript(
        `seq ${rows} | awk 'BEGIN { printf "[" } { printf "%s{\\"id\\":%d,\\"country\\":\\"DE\\"}", (NR > 1 ? "," : ""), $1 } END { printf "]" }'`,
      ),
    );
  workspace.config(config);
  return workspace;
}

const textOf = async (workspace: Workspace, name: string, options: object = MODEL): Promise<string> => {
  const result = await workspace.toolbox().call(name, {}, options);
  return result.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
};

const PROGRAMS = [
  'mcp',
  'mcporter',
  'mcp-inspector',
  'inspector-cli',
  'Postman-Client',
  '@n8n/n8n-nodes-langchain.mcpClient',
];
const AGENTS = [
  'claude-code',
  'claude-ai',
  'cursor-vscode',
  'Visual Studio Code',
  'codex-mcp-client',
  'gemini-cli-mcp-client',
  'windsurf-client',
  'Zed',
  'Cline',
  'goose',
  '@n8n/n8n-nodes-langchain.mcpClientTool',
];

describe.concurrent('results as tables', () => {
  spec('CTX-52', 'are off by default, and for models only', async () => {
    expect(await textOf(createOrders(''), 'orders')).toBe(JSON_TEXT);
    const workspace = createOrders('[results]\nencode = "auto"\n');
    expect(await textOf(workspace, 'orders')).toBe(TABLE);
    expect(await textOf(workspace, 'orders', {})).toBe(JSON_TEXT);
    expect((await wield(workspace, ['call', 'orders'])).stdout.trim()).toBe(JSON_TEXT);
    expect(await textOf(workspace, 'broken')).toContain(JSON_TEXT);
  });

  spec('CTX-52', 'leave structured content and values of programs as they are', async () => {
    const workspace = createOrders('[results]\nencode = "auto"\n');
    const result = await workspace.toolbox().call('schema', {}, MODEL);
    expect(result).toMatchObject({ ok: true, structured: { rows: ROWS } });
    expect(result.content[0]).toMatchObject({ text: expect.stringContaining('rows[3]{id,country,amount}:') });
    const program = createOrders('mode = "code"\n[results]\nencode = "auto"\n');
    const code = 'return JSON.parse(await tools.orders({}))[2].amount;';
    const ran = await program.toolbox().call('run_code', { code }, MODEL);
    expect(JSON.stringify(ran.structured)).toContain('"value":111');
  });

  spec('CTX-52', 'are chosen per tool', async () => {
    const off = createOrders('[results]\nencode = "auto"\n[tools.orders]\nencode = "off"\n');
    expect(await textOf(off, 'orders')).toBe(JSON_TEXT);
    expect(await textOf(createOrders('[tools.orders]\nencode = "auto"\n'), 'orders')).toBe(TABLE);
  });

  spec('CTX-52', 'are not sent to clients whose programs read texts', async () => {
    const read = async (config: string): Promise<unknown> => {
      const client = await connectStdio(createOrders(config), 'older', ['--trust']);
      return (await callTool(client, 'orders', {})).content[0];
    };
    expect(await read('[results]\nencode = "auto"\n')).toMatchObject({ text: TABLE });
    const plain = '[results]\nencode = "auto"\nplain-clients = ["*"]\n';
    expect(await read(plain)).toMatchObject({ text: JSON_TEXT });
    const workspace = createOrders('[results]\nencode = "auto"\n');
    const rows = defineTool({ name: 'rows', description: 'Rows.', execute: () => JSON_TEXT });
    const toolbox = workspace.toolbox({ tools: [rows] });
    const textFor = async (name: string) =>
      (await toolbox.call('rows', {}, { caller: { kind: 'model', door: 'mcp', name } })).content[0];
    // The names that clients send.
    for (const name of PROGRAMS)
      for (const sent of [name, `${name} (via mcp-remote 0.1.37)`])
        expect([sent, await textFor(sent)]).toEqual([sent, { type: 'text', text: JSON_TEXT }]);
    for (const name of AGENTS)
      for (const sent of [name, `${name} (via mcp-remote 0.1.37)`])
        expect([sent, await textFor(sent)]).toEqual([sent, { type: 'text', text: TABLE }]);
  });

  spec('CTX-52', 'begin the preview of a stored result', async () => {
    const shown = await textOf(createOrders('[results]\nencode = "auto"\n'), 'many');
    expect(shown).toContain('As a table, it begins:\n[900]{id,country}:\n  1,DE\n');
    expect(shown).toMatch(/stored as r_/);
    const spilled = await textOf(createOrders('[results]\nencode = "auto"\n'), 'spilled');
    expect(spilled).toContain('As a table, it begins:\n[2000]{id,country}:\n  1,DE\n');
  });
});
