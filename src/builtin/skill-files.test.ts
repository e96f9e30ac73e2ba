// Tests of paths as a skill names its files.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { spec } from '../../test/support/spec.js';
import type { Skill } from '../core/skill.js';
import { toSkillPath } from './skill-files.js';

spec('SKL-9', 'a path is relative to the skill, also one by its directory or by where a link to that leads', () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'wield-skill-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const real = join(root, 'real');
  const directory = join(root, 'link');
  mkdirSync(real);
  symlinkSync(real, directory);
  const skill = { name: 'known', directory } as Skill;
  for (const given of ['a/b.md', './a/b.md', 'a//b.md', ' a/b.md ', 'a\\b.md', 'c/../a/b.md', 'a/b.md/'])
    expect([given, toSkillPath(skill, given)]).toEqual([given, 'a/b.md']);
  for (const base of [directory, real]) expect(toSkillPath(skill, join(base, 'a/b.md'))).toBe('a/b.md');
  expect(toSkillPath({ ...skill, directory: join(root, 'none') }, join(root, 'none/a'))).toBe('a');
  for (const given of ['..', '../a', 'a/../../b', root, `${real}-x/a`, `${directory}/../a`, 'a\0b', '/etc/passwd'])
    expect(() => toSkillPath(skill, given), given).toThrow('is not inside the skill');
});
