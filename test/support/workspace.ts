// Temporary workspaces with real files and their own home.

import { chmodSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createNodeToolbox, type NodeToolbox, type NodeToolboxOptions } from '../../src/node.js';
import { onEnd } from './share.js';
import { removeAll } from './temporary.js';

export interface Workspace {
  /** The workdir. */
  readonly dir: string;
  readonly home: string;
  /** An environment restricted to this workspace. */
  readonly env: Record<string, string>;
  /** Writes a file below the workdir and returns its path. */
  write(name: string, text: string | Uint8Array, mode?: number): string;
  /** Writes an executable script into `.agents/tools`. */
  script(name: string, text: string, mode?: number): string;
  /** Writes the user's configuration. */
  config(text: string): void;
  toolbox(options?: Partial<NodeToolboxOptions>): NodeToolbox;
}

/** A clock in the future, to which files written by the test look settled. */
export const LATER = (): number => Date.now() + 60_000;

/** Creates a workspace that is removed after the test. */
export function createWorkspace(): Workspace {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'wield-test-')));
  onEnd(() => removeAll(root));
  const dir = join(root, 'project');
  const home = join(root, 'home');
  mkdirSync(dir);
  mkdirSync(home);
  const env = {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    HOME: home,
    LANG: 'C.UTF-8',
    WIELD_HOME: join(home, '.wield'),
    // Tests of the broker remove it.
    WIELD_NO_BROKER: '1',
  };
  const write = (name: string, text: string | Uint8Array, mode = 0o644): string => {
    const path = join(dir, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  };
  return {
    dir,
    home,
    env,
    write,
    script: (name, text, mode = 0o755) => write(`.agents/tools/${name}`, text, mode),
    config: (text) => {
      mkdirSync(env.WIELD_HOME, { recursive: true });
      writeFileSync(join(env.WIELD_HOME, 'config.toml'), text);
    },
    toolbox: (options = {}) => {
      const toolbox = createNodeToolbox({ workdir: dir, env, ...options });
      onEnd(() => toolbox.close());
      return toolbox;
    },
  };
}
