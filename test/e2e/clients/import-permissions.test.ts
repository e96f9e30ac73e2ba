// Rules of other agents become rules of wield, and never allow what was denied or asked about.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { parse as parseJsonc } from 'jsonc-parser';
import { parse as parseToml } from 'smol-toml';
import { describe, expect } from 'vitest';
import { readPermissions } from '../../../src/clients/permissions/files.js';
import { translatePermission } from '../../../src/clients/permissions/translate.js';
import { isToolError } from '../../../src/core/error.js';
import { isRecord } from '../../../src/core/json.js';
import { parseSelectors } from '../../../src/core/selector.js';
import { matchSelectorTool } from '../../../src/core/selector-match.js';
import { toToolName } from '../../../src/upstream/catalog/name.js';
import { json, wield } from '../../support/cli.js';
import { CORPORA, NO_CORPORA } from '../../support/corpora.js';
import { spec, specIf } from '../../support/spec.js';
import { configureServers, countedServer } from '../../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

function put(root: string, path: string, value: object | string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), typeof value === 'string' ? value : JSON.stringify(value));
}

const configOf = (workspace: Workspace): string => {
  const file = join(workspace.env.WIELD_HOME ?? join(workspace.home, '.wield'), 'config.toml');
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
};

async function importAll(workspace: Workspace, ...args: string[]) {
  return json(await wield(workspace, ['import', 'permissions', '--json', ...args]));
}

const selectorsOf = ({ rules }: { rules: { selector: string }[] }): string[] => rules.map(({ selector }) => selector);

describe.concurrent('wield import permissions', () => {
  spec('POL-39', 'writes rules of Claude Code with their origin, and lists the rest', async () => {
    const workspace = createWorkspace();
    put(workspace.home, '.claude/settings.json', {
      permissions: {
        deny: ['mcp__github__delete_repo', 'mcp__files', 'Bash(rm:*)', 7],
        ask: ['mcp__github__create_*', 'mcp__a__b__c'],
        allow: ['mcp__github__get_issue', 'Bash(git diff:*)'],
      },
      disabledMcpjsonServers: ['old.one'],
    });
    put(workspace.dir, '.claude/settings.json', {
      permissions: { deny: ['mcp__shop__pay'], allow: ['mcp__shop__list'] },
    });
    const dry = await importAll(workspace, '--dry-run');
    expect(configOf(workspace)).toBe('');
    const found = await importAll(workspace, '--yes');
    expect(found.rules).toEqual(dry.rules);
    expect(selectorsOf(found).sort()).toEqual([
      'a__b_c($policy=ask)',
      'a_b__c($policy=ask)',
      'files_*($deny)',
      'github_create_*($policy=ask)',
      'github_delete_repo($deny)',
      'old_one_*($deny)',
      'shop_pay($deny)',
    ]);
    const left = found.left.map((one: { written: string }) => one.written);
    expect(left).toEqual([
      'permissions.allow: mcp__shop__list',
      'permissions.deny: Bash(rm:*)',
      'permissions.deny: 7',
      'permissions.allow: mcp__github__get_issue',
      'permissions.allow: Bash(git diff:*)',
    ]);
    expect(configOf(workspace)).toContain(
      '"github_delete_repo($deny)", # ~/.claude/settings.json, permissions.deny: mcp__github__delete_repo',
    );
    expect(readFileSync(join(workspace.dir, '.agents/config.toml'), 'utf8')).toContain('"shop_pay($deny)", # ');
    const before = configOf(workspace);
    expect((await importAll(workspace, '--yes')).written).toBe(false);
    expect(configOf(workspace)).toBe(before);
    expect((await wield(workspace, ['doctor'])).stdout).not.toContain('trust.rules must');
  });

  spec('POL-39', 'needs confirmation, and writes nothing if a file is not valid', async () => {
    const workspace = createWorkspace();
    put(workspace.home, '.claude/settings.json', { permissions: { deny: ['mcp__a__b'] } });
    expect((await wield(workspace, ['add', '--import', 'permissions'])).status).toBe(5);
    put(workspace.dir, '.claude/settings.json', { permissions: ['mcp__a__c'] });
    expect((await importAll(workspace, '--dry-run')).left[0].reason).toBe('it is not a table');
    put(workspace.home, '.gemini/settings.json', '{"tools": {');
    const run = await wield(workspace, ['import', 'permissions', '--yes']);
    expect(run.status).not.toBe(0);
    expect(run.stderr).toContain('.gemini/settings.json');
    expect(configOf(workspace)).toBe('');
    expect((await importAll(workspace, 'claude-code', '--yes')).written).toBe(true);
  });

  spec('POL-39', 'denies calls of a server, and allows only what it lists', async () => {
    const workspace = createWorkspace();
    const server = countedServer(workspace, 'far');
    configureServers(workspace, { far: server.entry });
    const [first, second] = (await workspace.toolbox().list()).filter(({ name }) => name.startsWith('far_'));
    const remote = (name: string): string => name.slice('far_'.length);
    put(workspace.home, '.cursor/permissions.json', { mcpAllowlist: ['far:*', '*:*'], terminalAllowlist: ['git'] });
    put(workspace.home, '.claude/settings.json', { permissions: { deny: [`mcp__far__${remote(first!.name)}`] } });
    put(workspace.dir, '.claude/settings.json', { permissions: { allow: ['mcp__far'] } });
    const found = await importAll(workspace, '--yes');
    expect(found.rules.filter((one: { scope: string }) => one.scope === 'project')).toEqual([]);
    expect(selectorsOf(found)).toContain(`${second!.name}($policy=allow)`);
    expect(selectorsOf(found).some((one) => one.includes('*'))).toBe(false);
    expect(await workspace.toolbox().call(first!.name, {})).toMatchObject({ ok: false, error: { code: 'denied' } });
  });

  spec('POL-39', 'reads Codex, Gemini CLI, Cursor and VS Code', async () => {
    const workspace = createWorkspace();
    put(
      workspace.home,
      '.codex/config.toml',
      '[mcp_servers.one]\ndisabled_tools = ["x"]\nenabled_tools = ["y"]\n[mcp_servers.one.tools.z]\napproval_mode = "prompt"\n',
    );
    put(workspace.home, '.codex/requirements.toml', '[rules]\nprefix_rules = []\n');
    put(workspace.home, '.gemini/settings.json', {
      tools: { exclude: ['mcp_two_x', 'run_shell_command(rm)'] },
      mcp: { excluded: ['three'] },
      mcpServers: { four: { excludeTools: ['x'], trust: true } },
    });
    put(workspace.dir, '.cursor/cli.json', { permissions: { deny: ['Mcp(five:x)', 'Mcp(five, y)', 'Shell(rm)'] } });
    put(
      workspace.dir,
      '.vscode/settings.json',
      '{ "chat.tools.terminal.autoApprove": { "rm": false, "ls": true }, } // x',
    );
    const found = await importAll(workspace, '--dry-run');
    expect(selectorsOf(found).sort()).toEqual([
      'five_x($deny)',
      'five_y($deny)',
      'four_x($deny)',
      'one_x($deny)',
      'one_z($policy=ask)',
      'three_*($deny)',
      'two_x($deny)',
    ]);
    expect(found.left.map((one: { policy: string; written: string }) => `${one.policy} ${one.written}`)).toEqual([
      'deny mcp_servers.one.enabled_tools: ["y"]',
      'deny rules: {"prefix_rules":[]}',
      'deny tools.exclude: run_shell_command(rm)',
      'allow mcpServers.four.trust: true',
      'deny permissions.deny: Shell(rm)',
      'ask chat.tools.terminal.autoApprove: {"rm":false}',
      'allow chat.tools.terminal.autoApprove: {"ls":true}',
    ]);
  });

  spec('POL-39', 'allows nothing that policies of Gemini CLI may deny, and denies what they deny', async () => {
    const workspace = createWorkspace();
    configureServers(workspace, { far: countedServer(workspace, 'far').entry });
    const [first, second] = (await workspace.toolbox().list()).filter(({ name }) => name.startsWith('far_'));
    put(workspace.home, '.gemini/settings.json', { mcpServers: { far: { trust: true } } });
    expect(selectorsOf(await importAll(workspace, '--dry-run'))).toContain(`${second!.name}($policy=allow)`);
    const rule = (fields: string) => `[[rule]]\n${fields}\npriority = 9\n`;
    const tool = first!.name.slice('far_'.length);
    const policies = [
      `mcpName = "far"\ntoolName = "${tool}"\ndecision = "deny"`,
      'mcpName = "two"\ntoolName = ["x", "y"]\ndecision = "ask_user"',
      'toolName = "mcp_three_*"\ndecision = "deny"\ndenyMessage = "no"',
      'mcpName = "four"\ndecision = "deny"\nargsPattern = "rm"',
      'toolName = "*"\ndecision = "deny"',
      'mcpName = "far"\ndecision = "allow"',
    ];
    put(workspace.home, '.gemini/policies/any name.toml', policies.map(rule).join(''));
    put(workspace.dir, '.gemini/policies/b.toml', rule('mcpName = "five"\ndecision = "deny"'));
    const found = await importAll(workspace, '--yes');
    expect(selectorsOf(found).sort()).toEqual(
      [`${first!.name}($deny)`, 'five_*($deny)', 'three_*($deny)', 'two_x($policy=ask)', 'two_y($policy=ask)'].sort(),
    );
    expect(found.left.map(({ policy, reason }: { policy: string; reason: string }) => [policy, reason])).toEqual([
      ['allow', expect.stringContaining('.toml may deny it; allow it by hand')],
      ['deny', 'it has conditions'],
      ['deny', 'it is about all tools'],
      ['allow', expect.stringContaining('by hand')],
    ]);
    expect(await workspace.toolbox().call(first!.name, {})).toMatchObject({ ok: false, error: { code: 'denied' } });
    put(workspace.home, '.gemini/policies/any name.toml', '[[rule]');
    expect((await wield(workspace, ['import', 'permissions', '--yes'])).status).not.toBe(0);
  });

  spec('POL-39', 'reads all rules of Codex, and what its profiles deny', async () => {
    const workspace = createWorkspace();
    const profile = '[profiles.x.mcp_servers.far';
    put(
      workspace.home,
      '.codex/config.toml',
      `${profile}]\ndisabled_tools = ["a"]\n${profile}.tools.b]\napproval_mode = "approve"\n`,
    );
    put(workspace.home, '.codex/rules/own.rules', 'prefix_rule(pattern=["ls"], decision="forbidden")\n');
    const found = await importAll(workspace, '--dry-run');
    expect(selectorsOf(found)).toEqual(['far_a($deny)']);
    expect(found.left.map(({ written }: { written: string }) => written)).toEqual([
      'profiles.x.mcp_servers.far.tools.b: approve',
      expect.stringContaining('"ls"'),
    ]);
  });

  spec('POL-39', 'keeps comments, order and other lines of an existing [trust]', async () => {
    const existing = [
      '# Mine\n[trust] # who may do what\n# first\nask = "person"\nrules = [ # all\n  # about b\n  "b($policy=ask)", # asks\n  "c($policy=allow)" # allows\n  # end\n]\n# after\n\n# of limits\n[limits]\ntimeout = "3s" # short\n',
      '[trust]\n# nothing yet\n\n[limits]\ntimeout = "3s"\n',
      '[trust]\r\nrules = ["b($policy=ask)", \'c($policy=allow)\',] # one line\r\n',
      '[trust]\nrules = "b($policy=ask)" # a single one\n# end',
      '[trust]\nrules = [] # none\n[env]\n# below\n',
    ];
    for (const text of existing) {
      const workspace = createWorkspace();
      workspace.config(text);
      put(workspace.home, '.claude/settings.json', {
        permissions: { deny: ['mcp__x__one'], ask: ['mcp__x__two', 'mcp__y__*'] },
      });
      const before = json(await wield(workspace, ['config', '--json']));
      const found = await importAll(workspace, '--yes');
      const after = configOf(workspace);
      const kept = text.split(/\r?\n/).flatMap((line) => /#.*|^[a-z]+ = "\w+"|"b\([^"]*"/.exec(line)?.[0] ?? []);
      expect(kept.filter((part) => !after.includes(part))).toEqual([]);
      for (const selector of selectorsOf(found)) expect(after).toContain(`"${selector}", # ~/.claude/settings.json`);
      const { problems } = json(await wield(workspace, ['config', '--json']));
      expect(problems).toEqual(before.problems);
      const rules = [...after.matchAll(/"(\w+)[^"(]*\(\$/g)].map(([, name]) => name);
      expect(rules[0]).toBe('x_one');
      expect((await importAll(workspace, '--yes')).written).toBe(false);
    }
  });

  spec('POL-39', 'lists the rules of Codex about commands', async () => {
    const workspace = createWorkspace();
    const rules =
      '# Mine\nprefix_rule(pattern=["git", "push"],\n  decision="forbidden")\nprefix_rule(pattern=["ls"])\n';
    put(workspace.home, '.codex/rules/default.rules', rules);
    const { left } = await importAll(workspace, '--dry-run');
    expect(left.map(({ policy, written }: { policy: string; written: string }) => [policy, written])).toEqual([
      ['deny', expect.stringContaining('"git", "push"')],
      ['allow', expect.stringContaining('"ls"')],
    ]);
  });

  spec('POL-39', 'keeps what existing rules deny and ask', async () => {
    const cases: [existing: string, expected: string[]][] = [
      ['*($policy=allow)', ['b($deny)', 'a($policy=ask)', '*($policy=allow)']],
      ['a($policy=deny) *($policy=allow)', ['b($deny)', 'a($policy=deny)', 'a($policy=ask)', '*($policy=allow)']],
      ['c($policy=allow) a($policy=deny)', ['b($deny)', 'c($policy=allow)', 'a($policy=deny)']],
    ];
    for (const [existing, expected] of cases) {
      const workspace = createWorkspace();
      const file = join(workspace.env.WIELD_HOME ?? join(workspace.home, '.wield'), 'config.toml');
      put(dirname(file), 'config.toml', `# mine\nallowed-tools = "*"\n\n[trust]\nrules = "${existing}"\n`);
      put(workspace.home, '.claude/settings.json', {
        permissions: { ask: ['mcp__wield__a'], deny: ['mcp__wield__b'] },
      });
      const found = await importAll(workspace, '--yes');
      const texts = [...configOf(workspace).matchAll(/^ {2}"(.*)",/gm)].map(([, text]) => text);
      expect(texts.filter((text) => !text!.startsWith('wield_'))).toEqual(expected);
      expect(configOf(workspace)).toContain('# mine\nallowed-tools = "*"');
      if (existing.startsWith('c')) expect(found.left[0].reason).toContain('by hand');
    }
  });
});

const name = fc.stringMatching(/^[A-Za-z0-9_.-]{1,70}$/);

spec('POL-39', 'what a client denies or asks about is matched, however long or odd its name', () => {
  fc.assert(
    fc.property(name, name, fc.nat(), fc.nat(), fc.constantFrom('deny', 'ask'), (server, tool, from, to, policy) => {
      fc.pre(server !== 'wield');
      // As clients write names.
      const plain = (text: string): string => text.replaceAll('.', '_');
      const [start, end] = [from % (tool.length + 1), to % (tool.length + 1)].sort((a, b) => a - b) as [number, number];
      for (const pattern of [tool, '*', `${tool.slice(0, start)}*${tool.slice(end)}`]) {
        const [permission] = readClaude({ [policy]: [`mcp__${plain(server)}__${plain(pattern)}`] });
        const { selectors } = translatePermission(permission!, 'user', []);
        const target = { name: toToolName(server, tool), tags: [] };
        expect(parseSelectors(selectors).some((one) => matchSelectorTool(one, target))).toBe(true);
        expect(parseSelectors(selectors).every((one) => one.policy === policy)).toBe(true);
      }
    }),
  );
});

function readClaude(permissions: object) {
  const workspace = createWorkspace();
  put(workspace.dir, 'settings.json', { permissions });
  return readPermissions({ client: 'claude-code', scope: 'user', path: join(workspace.dir, 'settings.json') });
}

const DIRECTORY = join(CORPORA, 'permissions');
const FILES = existsSync(DIRECTORY) ? readdirSync(DIRECTORY) : [];

// Named `CLIENT--…`; others are of Claude Code.
const clientOf = (file: string): string => /^([a-z-]+?)--/.exec(file)?.[1] ?? 'claude-code';

/** What a file restricts, read in another way than by the code: a list of servers, tools and policies. */
function findRestrictions(client: string, document: unknown): [server: string, tool: string, policy: string][] {
  const at = (value: unknown, ...path: string[]): unknown =>
    path.reduce((one: unknown, key) => (isRecord(one) ? one[key] : undefined), value);
  const texts = (...path: string[]): string[] =>
    [at(document, ...path)].flat().filter((one) => typeof one === 'string');
  const split = (form: RegExp, entries: readonly string[], policy: string) =>
    entries.flatMap((entry): [string, string, string][] => {
      const [, server, tool] = form.exec(entry) ?? [];
      return server === undefined || server.includes('*') ? [] : [[server, tool ?? '*', policy]];
    });
  const servers = Object.entries((at(document, client === 'codex' ? 'mcp_servers' : 'mcpServers') ?? {}) as object);
  if (client === 'claude-code')
    return [
      ...(['deny', 'ask'] as const).flatMap((policy) =>
        split(/^mcp__([\w.-]+?)(?:__([\w*.-]+))?$/, texts('permissions', policy), policy),
      ),
      ...texts('disabledMcpjsonServers').map((server): [string, string, string] => [server, '*', 'deny']),
    ];
  if (client === 'cursor') return split(/^Mcp\(([^:*()]+):([^:()]+)\)$/, texts('permissions', 'deny'), 'deny');
  if (client === 'gemini-cli')
    return [
      ...texts('mcp', 'excluded').map((server): [string, string, string] => [server, '*', 'deny']),
      ...servers.flatMap(([server, own]) =>
        [at(own, 'excludeTools') ?? []].flat().map((tool): [string, string, string] => [server, String(tool), 'deny']),
      ),
    ];
  if (client !== 'codex') return [];
  return servers.flatMap(([server, own]): [string, string, string][] => [
    ...(at(own, 'enabled') === false ? [[server, '*', 'deny'] as [string, string, string]] : []),
    ...[at(own, 'disabled_tools') ?? []].flat().map((tool): [string, string, string] => [server, String(tool), 'deny']),
    ...(at(own, 'default_tools_approval_mode') === 'prompt' ? [[server, '*', 'ask'] as [string, string, string]] : []),
  ]);
}

specIf(FILES.length > 0, NO_CORPORA, 'POL-39', 'no public settings file is widened', () => {
  let files = 0;
  for (const file of FILES) {
    const path = join(DIRECTORY, file);
    const client = clientOf(file);
    let read: ReturnType<typeof readPermissions>;
    try {
      read = readPermissions({ client, scope: 'user', path });
    } catch (error) {
      // Not valid JSON or TOML: nothing is written then.
      expect([file, isToolError(error) && error.code]).toEqual([file, 'invalid_definition']);
      continue;
    }
    files++;
    for (const scope of ['user', 'project'] as const) {
      const translated = read.map((permission) => ({ permission, ...translatePermission(permission, scope, []) }));
      for (const { permission, selectors, left } of translated) {
        expect([file, permission.written, selectors.length > 0 || left !== undefined]).toEqual([
          file,
          permission.written,
          true,
        ]);
        expect(parseSelectors(selectors).every((one) => one.policy === permission.policy)).toBe(true);
        if (permission.policy === 'allow') expect([file, selectors]).toEqual([file, []]);
      }
      const rules = parseSelectors(translated.flatMap(({ selectors }) => selectors));
      const document = path.endsWith('.rules') ? {} : parseSettings(path);
      for (const [server, tool, policy] of findRestrictions(client, document)) {
        const target = { name: toToolName(server, tool.replaceAll('*', 'any')), tags: [] };
        const isRestricted = rules.some(
          (one) => [policy, 'deny'].includes(one.policy ?? '') && matchSelectorTool(one, target),
        );
        expect([file, server, tool, policy, isRestricted]).toEqual([file, server, tool, policy, true]);
      }
    }
  }
  expect(files).toBeGreaterThan(0);
});

function parseSettings(path: string): unknown {
  const text = readFileSync(path, 'utf8');
  return path.endsWith('.toml') ? parseToml(text) : parseJsonc(text, [], { allowTrailingComma: true });
}
