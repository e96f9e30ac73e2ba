// Runs programs as a model does, and a workspace with tools for them.

import type { Client } from '@modelcontextprotocol/client';
import { runCode } from '../../src/code.js';
import type { Caller, ToolResult } from '../../src/index.js';
import type { NodeToolbox } from '../../src/node.js';
import { shellScript } from './shell-script.js';
import { createWorkspace, type Workspace } from './workspace.js';

export const MODEL: Caller = { kind: 'model', door: 'mcp', name: 'test' };

/** Creates a workspace with a text, a JSON, a large, a failing and a destructive tool. `ran` lists what deploy did. */
export function createProgramWorkspace(): Workspace {
  const workspace = createWorkspace();
  workspace.script(
    'say-hello',
    shellScript('printf "Hello, %s" "$WIELD_PARAM_WHO"', '@param *who string Whom to greet'),
  );
  workspace.script('count', shellScript(`printf '{"n": 3}'`));
  workspace.script('orders', shellScript('echo "["; seq -s , 1 9000; echo "]"'));
  workspace.script('broken', shellScript('echo bad >&2; exit 3'));
  workspace.script(
    'deploy',
    shellScript(
      'echo "$WIELD_PARAM_BRANCH" >> ran; printf "%s" "$WIELD_PARAM_BRANCH"',
      '@param *branch string Branch',
      '@destructive',
    ),
  );
  return workspace;
}

/** Runs a program as a model. */
export function runAsModel(toolbox: NodeToolbox, code: string, more: object = {}): Promise<ToolResult> {
  return runCode(toolbox, code, { caller: MODEL, ...more });
}

/** Returns what a program returned. Throws if it failed. */
export function returned({ error, structured }: ToolResult): unknown {
  if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
  return (structured as { value?: unknown }).value;
}

export interface Said {
  readonly text: string;
  readonly error?: {
    readonly code: string;
    readonly message: string;
    readonly hint?: string;
    readonly data?: { readonly resume?: string; readonly approvals?: { readonly id: string }[] };
  };
}

/** Calls a tool through a client, and returns text and error. */
export async function say(client: Client, name: string, args: Record<string, unknown>): Promise<Said> {
  const { content, _meta } = await client.callTool({ name, arguments: args });
  const text = (content as { text?: string }[]).map((part) => part.text ?? '').join('\n');
  return { text, error: _meta?.['wield/error'] as Said['error'] };
}
