// Adds, lists, installs, upgrades and removes many irregular skills.

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ALL_TESTS, rounds } from '../../support/effort.js';
import { createInstallWorkspace, type Files } from '../../support/install.js';
import { spec } from '../../support/spec.js';

// Large repositories have thousands; run with WIELD_SCALE=4500 to test that.
const COUNT = Number(process.env.WIELD_SCALE ?? rounds(ALL_TESTS ? 240 : 80, 800));

// Found in real repositories: no frontmatter, unquoted colons, other names, other templates, other cases, binary files.
function messy(at: number, word: string): readonly [string, string | Uint8Array][] {
  const base = `skills/skill-${at}`;
  const text = `Use {{ variable }}, {{#if x}}, \${{ secrets.X }} and {{name}}. ${word}\n`;
  switch (at % 8) {
    case 0:
      return [[`${base}/SKILL.md`, text]];
    case 1:
      return [[`${base}/SKILL.md`, `---\nname: skill\ndescription: Use when: it is late: or not\n---\n${text}`]];
    case 2:
      return [
        [`${base}/SKILL.md`, `---\r\nname: other-${at}\r\ndescription: CRLF\r\n---\r\n${text}`],
        [`${base}/data.bin`, Buffer.from([0xff, 0x7b, 0x7b, 0x00])],
      ];
    case 3:
      return [
        [
          `${base}/SKILL.md`,
          `---\nname: skill-${at}\ndescription: >\n  Folded\n  text\nallowed-tools: Bash(git *), Read\n---\n${text}`,
        ],
        [`${base}/scripts/run.sh!`, '#!/bin/sh\necho "{{self}}"\n'],
      ];
    case 4:
      return [[`${base}/skill.md`, text]];
    default:
      return [[`${base}/SKILL.md`, `---\nname: skill-${at}\ndescription: About ${at}\n---\n${text}`]];
  }
}

function repositoryOf(word: string): Files {
  return Object.fromEntries(Array.from({ length: COUNT }, (_, at) => messy(at, at < 50 ? word : 'same')).flat());
}

spec.thorough(
  'INS-1 INS-5 INS-27',
  'installs, upgrades and removes hundreds of irregular skills',
  async () => {
    const workspace = createInstallWorkspace();
    const url = workspace.repository('messy', repositoryOf('one'));
    const { source } = await workspace.json('add', url);
    const wrong = Math.floor(COUNT / 8) + (COUNT % 8 > 4 ? 1 : 0);
    expect([source.items.length, source.warnings.length]).toEqual([COUNT - wrong, wrong]);
    await workspace.json('install', '--all', '--yes');
    const links = readdirSync(join(workspace.home, '.claude/skills'));
    expect(links).toHaveLength(COUNT - wrong);
    expect(workspace.stored('skill/skill-8/SKILL.md')).toBe(
      `Use {{ variable }}, {{#if x}}, \${{ secrets.X }} and {{name}}. one\n`,
    );
    expect(workspace.stored('skill/skill-3/scripts/run.sh')).toBe(
      `#!/bin/sh\necho "${workspace.wieldHome}/store/skill/skill-3"\n`,
    );
    const { items } = await workspace.json('list', '--installed');
    expect(items.filter(({ states }: { states: string[] }) => states.join() !== 'clean')).toEqual([]);
    workspace.source('messy', repositoryOf('two'));
    workspace.git('messy', 'commit', '--quiet', '--all', '-m', 'Two');
    const upgraded = await workspace.json('upgrade', '--yes');
    expect(upgraded.items).toHaveLength(50 - 6);
    expect((await workspace.run('verify')).status).toBe(0);
    await workspace.json('remove-source', url, '--yes');
    expect(existsSync(join(workspace.home, '.claude'))).toBe(false);
    const left = readdirSync(workspace.wieldHome).filter(
      (name) => !['audit', 'cache', 'installed.json'].includes(name),
    );
    expect(left).toEqual([]);
  },
  300_000,
);
