// Upstream servers with skills, as entries of Skills over MCP.

import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { configureServers } from './upstream-servers.js';
import { createWorkspace } from './workspace.js';

const SERVER = fileURLToPath(new URL('offers-server.mjs', import.meta.url));

type Files = Readonly<Record<string, string>>;

/** An entry of `skills/list`, and the contents of its files. */
export function toSkill(root: string, files: Files, more: object = {}) {
  const uriOf = (path: string): string => `${root}/${path.split('/').map(encodeURIComponent).join('/')}`;
  const name = root.slice(root.lastIndexOf('/') + 1);
  const entry = {
    uri: `${root}/SKILL.md`,
    frontmatter: { name, description: `How to use ${name}.` },
    resources: Object.entries(files).map(([path, text]) => ({
      uri: uriOf(path),
      digest: `sha256:${createHash('sha256').update(text).digest('hex')}`,
      size: Buffer.byteLength(text),
    })),
    ...more,
  };
  return { entry, contents: Object.fromEntries(Object.entries(files).map(([path, text]) => [uriOf(path), text])) };
}

type Skills = readonly ReturnType<typeof toSkill>[];

/** Creates a workspace with the server `far`, which lists these skills. */
export function createSkillServer(
  skills: Skills,
  { entry = {}, tools = [] as readonly object[], isProject = false, others = {} } = {},
) {
  const workspace = createWorkspace();
  const file = join(workspace.home, 'offers.json');
  const contents = Object.assign({}, ...skills.map((skill) => skill.contents));
  writeFileSync(file, JSON.stringify({ tools, skills: skills.map((skill) => skill.entry), contents }));
  const far = { command: process.execPath, args: [SERVER, join(workspace.home, 'far.starts'), file], ...entry };
  if (isProject) workspace.write('.mcp.json', JSON.stringify({ mcpServers: { far } }));
  else configureServers(workspace, { far, ...others });
  return { workspace };
}
