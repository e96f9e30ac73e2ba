// Servers whose tools a listing lacks: they are still starting, could not be started, or may not be.

import { anyToolOf } from '../core/any-tool.js';
import { CALLERS } from '../core/caller.js';
import type { UserOf } from '../core/selector-terms.js';
import { count, spellOut } from '../core/text.js';
import type { NodeToolbox } from '../node.js';
import { findDenial } from '../policy/decide.js';
import { toRules } from '../policy/rules.js';
import { describeStarting, needsTrust } from '../upstream/catalog/format.js';
import { openLoginPage } from '../upstream/execute/own-login.js';
import type { LoginPages } from '../upstream/login/pages.js';
import { findLoginUser, isPerUser } from '../upstream/login/user.js';
import type { Terminal } from './terminal.js';

type Unanswered = ReturnType<typeof findUnanswered>[number];

/** Returns the servers that did not answer, why, and what to do next. */
export function findUnanswered({ state: { upstreams } }: NodeToolbox) {
  return upstreams.states().flatMap(({ server, state, runner, failure }) => {
    if (state === 'listed' || state === 'off' || state === 'blocked') return [];
    const { name } = server;
    const { message, hint = '' } =
      state === 'starting'
        ? describeStarting(server, runner)
        : state === 'untrusted'
          ? needsTrust(server)
          : (failure ?? { message: `the server ${name} was not started`, hint: `wield mcp refresh ${name}` });
    return [{ name, state, message, hint }];
  });
}

/** Replaces "no tools" where servers did not answer. */
export function describeEmpty(unanswered: readonly Unanswered[]): string {
  return `No tools are known yet: ${count(unanswered.length, 'server')} did not answer.`;
}

/** Names the servers that did not answer, on stderr; those of an untrusted workspace only by their number. */
export function printUnanswered(terminal: Terminal, unanswered: readonly Unanswered[]): void {
  const untrusted = unanswered.filter(({ state }) => state === 'untrusted').length;
  const named = unanswered.filter(({ state }) => state !== 'untrusted');
  if (untrusted > 0)
    terminal.err(
      `\n${count(untrusted, 'server')} not started: this workspace is not trusted; wield mcp shows what would run\n`,
    );
  if (named.length > 0) terminal.err('\n');
  for (const { state, message, hint } of named) {
    const label = state === 'unknown' ? 'not started' : state;
    terminal.err(`  ${terminal.paint('yellow', label, 'err')}  ${spellOut(message)}; ${spellOut(hint)}\n`);
  }
}

/** Returns what MCP clients are told about servers that did not answer, if models may know them; not why. */
export function toNotices(toolbox: NodeToolbox): string[] {
  const unanswered = findUnanswered(toolbox).filter(({ state }) => state !== 'untrusted');
  if (unanswered.length === 0) return [];
  const rules = toRules(toolbox.state.snapshot());
  return unanswered
    .filter(({ name }) => findDenial(anyToolOf(name), CALLERS.mcp, rules) === undefined)
    .map(({ state, name, message }) => (state === 'starting' ? message : `the server ${name} is not available`));
}

/** Returns where a user can log in to servers that nobody has listed yet, because they need a login (IDN-23). */
export function toLoginNotices(toolbox: NodeToolbox, loginPages: LoginPages, caller: UserOf = {}): string[] {
  const { machine, state } = toolbox;
  const { upstreams } = state;
  const snapshot = state.snapshot();
  const { policy, now, trusted, workdir } = snapshot;
  const rules = toRules({ policy, now, trusted, workdir, user: caller });
  return upstreams.states().flatMap(({ server, state: is }) => {
    const user = is === 'failed' || is === 'unknown' ? findLoginUser(server, caller) : undefined;
    if (user === undefined || !isPerUser(server) || findDenial(anyToolOf(server.name), CALLERS.mcp, rules)) return [];
    const page = openLoginPage(server, user, snapshot, { ...machine, loginPages });
    page?.done.then(() => upstreams.forgetFailure(server));
    return page === undefined ? [] : [`the server ${server.name} needs a login: open ${page.url}`];
  });
}

/** Returns a listener that names servers that did not answer in time, each once for every state, on stderr. */
export function createUnansweredReport(terminal: Terminal, toolbox: () => NodeToolbox) {
  const told = new Map<string, string>();
  return (waiting: readonly string[]): void => {
    if (waiting.length > 0) return;
    for (const { name, state, message, hint } of findUnanswered(toolbox())) {
      if (state === 'untrusted' || told.get(name) === message) continue;
      told.set(name, message);
      terminal.err(`  ${spellOut(message)}; ${spellOut(hint)}\n`);
    }
  };
}
