// Starts the server of the page with what other commands know: doctor, tokens and logging in.

import { join } from 'node:path';
import { isToolError, ToolError } from '../core/error.js';
import { hashTree } from '../files/tree.js';
import { acceptModified } from '../install/apply/accept.js';
import { compareFiles } from '../install/compare.js';
import { type InstalledItem, loadInstalled } from '../install/state.js';
import { toReadOnlyEnvironment } from '../install/toolbox-environment.js';
import type { NodeToolbox } from '../node.js';
import { type PageServer, servePage } from '../ui/server/index.js';
import type { Change } from '../ui/server/parts.js';
import { changedAgain } from '../ui/server/session.js';
import { readVersion } from '../workspace/machine.js';
import { withInstalling } from './installing.js';
import { SENT } from './sent.js';
import type { VerbCall } from './verb.js';
import { runDoctor } from './verbs/doctor/diagnose.js';
import { logIn } from './verbs/mcp/login.js';
import { findAddressed } from './verbs/mcp/server.js';

export async function openPage(call: VerbCall, toolbox: NodeToolbox, port: number): Promise<PageServer> {
  const doctor = async () => (await runDoctor(toolbox, call.reserved)).checks;
  const login = (name: string, signal: AbortSignal) => logInByPage(toolbox, name, signal);
  const installedChanges = () => findInstalledChanges(call, toolbox);
  const version = readVersion();
  const onAddress = (url: string) => call.terminal.err(`  that address is no longer valid; a new one: ${url}\n`);
  return servePage({ toolbox, version, doctor, providers: SENT, login, installedChanges, onAddress }, port);
}

const LOGIN_MS = 5 * 60_000;

async function logInByPage(toolbox: NodeToolbox, name: string, signal: AbortSignal): Promise<void> {
  const server = await findAddressed(toolbox, name, 'login');
  const { openBrowser } = await import('../upstream/login/open-browser.js');
  const show = async (url: URL): Promise<void> => {
    if (await openBrowser(url, toolbox.machine.world)) return;
    throw new ToolError('unavailable', 'no browser could be opened', { hint: `run wield mcp login ${name}` });
  };
  await logIn(toolbox, server, { timeoutMs: LOGIN_MS, signal, show });
}

// Installed tools whose files were modified; accepting one is `wield install --accept`.
async function findInstalledChanges(call: VerbCall, toolbox: NodeToolbox): Promise<readonly Change[]> {
  const { paths } = toReadOnlyEnvironment(toolbox);
  const isModified = (item: InstalledItem): boolean =>
    item.kind === 'tool' && compareFiles(item, paths).includes('locally modified');
  const digestOf = ({ object }: InstalledItem): string => hashTree(join(paths.objects, object));
  return Promise.all(
    loadInstalled(paths)
      .items.filter(isModified)
      .map(async (item): Promise<Change> => {
        const digest = digestOf(item);
        const accept = async (): Promise<void> => {
          await withInstalling(call, async (environment) => {
            if (digestOf(item) !== digest) throw changedAgain();
            await acceptModified([item], environment);
          });
        };
        return { tool: item.effective, from: item.source, diff: await diffOf(toolbox, item.effective), digest, accept };
      }),
  );
}

async function diffOf({ state: { pins }, find }: NodeToolbox, name: string): Promise<readonly string[]> {
  try {
    const pin = pins.check(await find(name));
    if (typeof pin !== 'string') return pin.diff;
  } catch (error) {
    if (!isToolError(error)) throw error;
  }
  return ['files of it that are not its definition were modified'];
}
