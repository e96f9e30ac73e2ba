// Workspaces with module files, trusted unless said otherwise.

import { createTrustStore } from '../../src/policy/trust.js';
import { createWorkspace, type Workspace } from './workspace.js';

export interface ModuleWorkspace extends Workspace {
  /** Writes a file into `.agents/tools` and gives its path. */
  module(name: string, text: string): string;
  trust(): void;
}

export function createModuleWorkspace({ trusted = true } = {}): ModuleWorkspace {
  const workspace = createWorkspace();
  const trust = (): void => {
    createTrustStore(workspace.env.WIELD_HOME!).trust(workspace.dir, new Date());
  };
  if (trusted) trust();
  return { ...workspace, trust, module: (name, text) => workspace.write(`.agents/tools/${name}`, text) };
}

/** A module in JavaScript with one tool, whose function is given as text. */
export function moduleText(name: string, execute: string, before = ''): string {
  return `${before}
export const tool = {
  name: '${name}',
  description: 'About ${name}.',
  inputSchema: { type: 'object', additionalProperties: true },
  execute: ${execute},
};
`;
}
