// Configuration files of other clients as people have them: comments, tabs, CRLF, trailing commas, other settings.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Workspace } from './workspace.js';

export interface ClientFixture {
  readonly client: string;
  readonly scope: 'project' | 'user';
  /** Below the workdir or the home directory. */
  readonly file: string;
  readonly text: string;
}

/** A secret that must appear in private files only. */
export const SEEDED = 'sk-seeded-4f9a1c0be2d47788a1b2c3d4';

const claudeCode = `{
  "numStartups": 12,
  "theme": "dark",
  "projects": {
    "/somewhere/else": { "allowedTools": [], "mcpServers": { "other": { "command": "other" } } }
  },
  "mcpServers": {
    "github": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-github"],
      "env": { "GITHUB_PERSONAL_ACCESS_TOKEN": "${SEEDED}", "LOG_LEVEL": "\${LOG_LEVEL:-info}" }
    },
    "sentry": { "type": "http", "url": "https://mcp.sentry.dev/mcp" },
    "old": { "type": "sse", "url": "https://mcp.example.com/sse" }
  },
  "hasCompletedOnboarding": true
}
`;

const claudeDesktop = `{
\t"globalShortcut": "",
\t"mcpServers": {
\t\t"filesystem": {
\t\t\t"command": "npx",
\t\t\t"args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/ada/Desktop"]
\t\t},
\t\t"prisma": { "command": "prisma-mcp", "env": { "DATABASE_URL": "file:./dev.db", "PATTERN": "\${literal}" } }
\t}
}`;

const cursor = `{"mcpServers":{"linear":{"url":"https://mcp.linear.app/mcp","headers":{"Authorization":"Bearer ${SEEDED}"}},"db":{"command":"pg-mcp","args":["--schema","\${env:DB_SCHEMA}"],"env":{"DB_PASSWORD":"\${env:DB_PASSWORD}"}}}}\n`;

const vscode = `// Servers of the team
{
  "inputs": [
    { "type": "promptString", "id": "api-key", "description": "API key", "password": true }, // asked once
  ],
  "servers": {
    /* the browser */
    "playwright": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@microsoft/mcp-server-playwright", "--root", "\${workspaceFolder}"],
      "gallery": "https://api.mcp.github.com",
    },
    "search": {
      "type": "http",
      "url": "https://search.example.com/mcp?region=eu",
      "headers": { "X-API-Key": "\${input:api-key}" },
      "dev": { "watch": "src" },
    }, // last
  },
}
`;

const codex = `# My settings
model = "gpt-5"
notify = ["sh", "-c", """
[mcp_servers.wield]
"""]

[mcp_servers.docs] # documentation
command = "docs-server"
args = ["--verbose",
  "--index", "[main]"]
env_vars = ["DOCS_HOME"]
startup_timeout_sec = 20
tool_timeout_sec = 90.5
enabled_tools = ["search", "open"]
disabled_tools = ["delete"]

[mcp_servers.docs.env]
DOCS_TOKEN = '${SEEDED}'

[mcp_servers.figma]
url = "https://mcp.figma.com/mcp"
bearer_token_env_var = "FIGMA_TOKEN"
http_headers = { "X-Region" = "us-east-1" }
env_http_headers = { "X-Team" = "FIGMA_TEAM" }
enabled = false

# the profile for reviews
[profiles.review]
model = "gpt-5.6-luna"
`;

const windsurf = `{
    "mcpServers": {
        "remote": { "serverUrl": "https://ada:${SEEDED}@mcp.example.com/mcp", "disabledTools": ["drop"] },
        "local": { "command": "uvx", "args": ["mcp-server-git"], "disabled": true }
    }
}
`;

const gemini = `{
  "selectedAuthType": "oauth-personal",
  "mcpServers": {
    "maps": {
      "httpUrl": "https://maps.example.com/mcp?key=${SEEDED}",
      "timeout": 30000,
      "trust": true,
      "includeTools": ["geocode"],
      "excludeTools": ["purge"]
    },
    "shell": { "command": "shell-mcp", "env": { "SHELL_TOKEN": "$SHELL_TOKEN" }, "cwd": "./tools" }
  }
}
`;

const zed = `// Zed settings
//
{
  "vim_mode": true,
  "context_servers": {
    "custom": { "source": "custom", "command": "node", "args": ["server.js"], "env": {} },
    "older": { "command": { "path": "older-server", "args": ["--stdio"], "env": { "A": "1" } }, "settings": {} },
    "ext": { "source": "extension", "settings": {} },
  },
  "theme": { "mode": "system" },
}
`;

const opencode = `{
  "$schema": "https://opencode.ai/config.json",
  // servers
  "mcp": {
    "everything": {
      "type": "local",
      "command": ["npx", "-y", "@modelcontextprotocol/server-everything"],
      "environment": { "KEY": "{env:EVERYTHING_KEY}" },
      "enabled": false
    },
    "jira": { "type": "remote", "url": "https://jira.example.com/mcp", "headers": { "Authorization": "Bearer {env:JIRA}" } }
  }
}
`;

const goose = `GOOSE_PROVIDER: anthropic # the provider
extensions:
  developer:
    bundled: true
    enabled: true
    name: developer
    type: builtin
  brave:
    name: brave
    type: stdio
    cmd: npx
    args:
      - -y
      - brave-server
    enabled: true
    envs:
      BRAVE_API_KEY: ${SEEDED}
    env_keys:
      - BRAVE_TEAM
    timeout: 300
  web:
    type: streamable_http
    uri: https://web.example.com/mcp
    headers: {}
    enabled: false

GOOSE_MODE: smart_approve
`;

const roo = `{
  "mcpServers": {
    "weather": {
      "type": "streamable-http",
      "url": "https://weather.example.com/mcp",
      "alwaysAllow": ["today"],
      "timeout": 60,
      "disabledTools": ["set"]
    }
  }
}
`;

const plain = `{
  "mcpServers": {
    "time": { "command": "uvx", "args": ["mcp-server-time"], "env": {} }
  }
}
`;

const crlf = (text: string): string => text.replaceAll('\n', '\r\n');

export const CLIENT_FILES: readonly ClientFixture[] = [
  { client: 'claude-code', scope: 'project', file: '.mcp.json', text: plain },
  { client: 'claude-code', scope: 'user', file: '.claude.json', text: claudeCode },
  {
    client: 'claude-desktop',
    scope: 'user',
    file: '.config/Claude/claude_desktop_config.json',
    text: claudeDesktop,
  },
  { client: 'cursor', scope: 'project', file: '.cursor/mcp.json', text: cursor },
  { client: 'cursor', scope: 'user', file: '.cursor/mcp.json', text: '{"mcpServers":{}}' },
  { client: 'vscode', scope: 'project', file: '.vscode/mcp.json', text: `\ufeff${crlf(vscode)}` },
  {
    client: 'vscode',
    scope: 'user',
    file: '.config/Code/User/mcp.json',
    text: '{\n\t"servers": {},\n\t"inputs": []\n}',
  },
  { client: 'codex', scope: 'project', file: '.codex/config.toml', text: '' },
  { client: 'codex', scope: 'user', file: '.codex/config.toml', text: codex },
  { client: 'windsurf', scope: 'user', file: '.codeium/windsurf/mcp_config.json', text: windsurf },
  { client: 'gemini-cli', scope: 'project', file: '.gemini/settings.json', text: gemini },
  { client: 'gemini-cli', scope: 'user', file: '.gemini/settings.json', text: '{}' },
  { client: 'zed', scope: 'user', file: '.config/zed/settings.json', text: zed },
  { client: 'opencode', scope: 'project', file: 'opencode.jsonc', text: opencode },
  {
    client: 'opencode',
    scope: 'user',
    file: '.config/opencode/opencode.json',
    text: '{ "mcp": { "servers": { "a": { "type": "local", "command": ["a"] } } } }\n',
  },
  {
    client: 'cline',
    scope: 'user',
    file: '.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json',
    text: plain,
  },
  { client: 'roo', scope: 'project', file: '.roo/mcp.json', text: crlf(roo) },
  { client: 'copilot-cli', scope: 'user', file: '.copilot/mcp-config.json', text: plain },
  { client: 'kiro', scope: 'user', file: '.kiro/settings/mcp.json', text: plain },
  { client: 'amazon-q', scope: 'user', file: '.aws/amazonq/mcp.json', text: plain },
  { client: 'lm-studio', scope: 'user', file: '.lmstudio/mcp.json', text: plain },
  { client: 'warp', scope: 'user', file: '.warp/.mcp.json', text: plain },
  { client: 'goose', scope: 'user', file: '.config/goose/config.yaml', text: goose },
];

/** Writes the file of a client into a workspace or its home, and returns its path. */
export function writeClientFile(workspace: Workspace, { scope, file, text }: ClientFixture): string {
  const path = join(scope === 'project' ? workspace.dir : workspace.home, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** Returns the fixture of a client in a scope. */
export function fixtureOf(client: string, scope: 'project' | 'user'): ClientFixture {
  return CLIENT_FILES.find((fixture) => fixture.client === client && fixture.scope === scope)!;
}
