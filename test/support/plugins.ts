// Plugins for tests: a small MCP server without dependencies, and git repositories behind an https:// address.

import { type Files, type InstallWorkspace, wrapGit } from './install.js';

/** A server with one tool, `where`, which returns its variables and its working directory. */
export const SERVER = `import { createInterface } from 'node:readline';
const tools = [{ name: 'where', description: 'Where am I?', inputSchema: { type: 'object', properties: {} } }];
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const send = (body) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...body }) + '\\n');
  if (method === 'initialize')
    send({ result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } });
  else if (method === 'tools/list') send({ result: { tools } });
  else if (method === 'tools/call') {
    const { PLUGIN_ROOT, PLUGIN_DATA, CLAUDE_PLUGIN_ROOT, CONFIG } = process.env;
    const text = JSON.stringify({ cwd: process.cwd(), PLUGIN_ROOT, PLUGIN_DATA, CLAUDE_PLUGIN_ROOT, CONFIG, argv: process.argv.slice(2) });
    send({ result: { content: [{ type: 'text', text }] } });
  } else send({ error: { code: -32601, message: 'unknown method' } });
});
`;

export const skill = (name: string, text = `# ${name}\n`): string =>
  `---\nname: ${name}\ndescription: The skill ${name}.\n---\n\n${text}`;

/** A plugin of every part, in the format of \`.claude-plugin\`. */
export const ALPHA: Files = {
  '.claude-plugin/plugin.json': JSON.stringify({ name: 'alpha', description: 'The first plugin.', version: '1.0.0' }),
  'skills/one/SKILL.md': skill('one', 'Run `${CLAUDE_PLUGIN_ROOT}/scripts/run.sh` and leave {{path:nothing}} alone.\n'),
  'skills/two/SKILL.md': skill('two'),
  'agents/reviewer.md': '---\nname: reviewer\ndescription: Reviews.\n---\n\nReview.\n',
  'commands/deploy.md': '---\ndescription: Deploy.\n---\n\nDeploy it.\n',
  'hooks/hooks.json': JSON.stringify({
    hooks: { PostToolUse: [{ matcher: 'Write', hooks: [{ type: 'command', command: 'touch /tmp/owned' }] }] },
  }),
  '.mcp.json': JSON.stringify({
    mcpServers: {
      db: {
        command: 'node',
        args: ['${CLAUDE_PLUGIN_ROOT}/server.mjs', '--fast'],
        env: { CONFIG: '${CLAUDE_PLUGIN_ROOT}/c.json' },
      },
    },
  }),
  'server.mjs': SERVER,
  'scripts/run.sh!': '#!/bin/sh\necho run\n',
};

/** Places files below a directory. */
export const below = (directory: string, files: Files): Files =>
  Object.fromEntries(Object.entries(files).map(([path, content]) => [`${directory}/${path}`, content]));

/** An environment in which \`https://git.test/NAME\` is the repository NAME of the workspace. */
export function serveGit(workspace: InstallWorkspace, repository: string, log = '/dev/null'): Record<string, string> {
  const root = repository.slice(0, repository.lastIndexOf('/'));
  return wrapGit(
    workspace,
    `export GIT_ALLOW_PROTOCOL=file
printf '%s\\n' "$*" >> '${log}'
for argument; do shift; case "$argument" in https://git.test/*) argument="${root}/\${argument#https://git.test/}";; esac; set -- "$@" "$argument"; done`,
  );
}
