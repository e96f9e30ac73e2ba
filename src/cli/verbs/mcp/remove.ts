// `wield mcp remove`: removes an upstream server from mcp.json.

import type { Scope } from '../../../clients/client.js';
import { writeConfig } from '../../../clients/config-file.js';
import { diffOf } from '../../../clients/connect.js';
import { editServer, findUnusedSecrets, wieldFile } from '../../../clients/wield-file.js';
import { assertPerson } from '../../../core/caller.js';
import { ToolError } from '../../../core/error.js';
import { quoteOutside, spellOut } from '../../../core/text.js';
import type { NodeToolbox } from '../../../node.js';
import { assertUnchanged, changeConfig, findClientEnvironment, readScope } from '../../clients.js';
import { ASKS, confirm, printDiff, toShownDiff } from '../../consent.js';
import { checkLock, lockServer } from '../../pin-server.js';
import { report, shortPath } from '../../print.js';
import { describePlace, findState, type McpAction, requireName, SCOPE } from './server.js';

export const remove: McpAction = {
  usage: 'remove NAME [--scope user|project] [--dry-run] [--yes]',
  example: 'wield mcp remove files',
  flags: { scope: SCOPE, ...ASKS },
  positionals: 1,
  async run(call, [named]) {
    const name = requireName(named, 'remove');
    const toolbox = call.toolbox();
    if (!call.dryRun) assertPerson(toolbox.machine.insideCall, 'removing a server');
    const scope = readScope(call) ?? findScope(toolbox, name);
    const edit = editServer(scope, findClientEnvironment(toolbox), name, undefined);
    const file = spellOut(shortPath(edit.file.path, toolbox));
    if (edit.current === undefined) {
      throw new ToolError('not_found', `${file} has no server "${quoteOutside(name, 60)}"`, {
        hint: 'wield mcp shows where each server is configured',
      });
    }
    const { terminal, json, dryRun } = call;
    const diff = toShownDiff(diffOf(edit));
    if (!json) {
      terminal.out(`  ${terminal.paint('bold', file)}\n`);
      printDiff(terminal, diff);
    }
    const environment = findClientEnvironment(toolbox);
    const secrets = findUnusedSecrets(edit, environment, toolbox.machine.wieldHome);
    if (!dryRun) checkLock(call, scope);
    if (!dryRun && !(await confirm(call, 'Remove it?', file))) return 0;
    const isWritten = !dryRun;
    const { path } = edit.file;
    if (isWritten)
      await changeConfig(call, path, () => {
        const now = editServer(scope, environment, name, undefined);
        assertUnchanged(edit.current, now.current, file);
        writeConfig(now.file, now.after, scope === 'user');
      });
    if (isWritten) await lockServer(call, name, scope);
    // Another directory may use it, so it is not deleted.
    const unused = secrets.map((secret) => `  secret    no longer used here; delete it: rm ${secret}\n`).join('');
    const text = isWritten ? `  removed   ${spellOut(name)}\n${unused}` : '  nothing was written\n';
    return report(call, { server: name, scope, file: path, diff, secrets, written: isWritten }, text);
  },
};

const WRITTEN: readonly Scope[] = ['user', 'project'];

// Finds the scope of a server that `wield mcp add` wrote; other files are not edited.
function findScope(toolbox: NodeToolbox, name: string): Scope {
  const environment = findClientEnvironment(toolbox);
  const isKnown = toolbox.state.upstreams.states().some(({ server }) => server.name === name);
  // One whose entry is not valid.
  const written = (one: Scope): boolean => editServer(one, environment, name, undefined).current !== undefined;
  const invalid = isKnown ? undefined : WRITTEN.find(written);
  if (invalid !== undefined) return invalid;
  const { server } = findState(toolbox, name);
  const scope = WRITTEN.find((one) => server.position.file === wieldFile(one, environment));
  if (scope !== undefined) return scope;
  throw new ToolError('conflict', `${spellOut(name)} is configured in a file that wield does not edit`, {
    hint: `remove it from ${describePlace(server, toolbox)} by hand`,
  });
}
