// The layers of the configuration, with files of our own for all three.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { spec } from '../../test/support/spec.js';
import { type Configuration, createConfiguration, type Layer } from './index.js';

/** The configuration of files with these texts. */
function configure(texts: Partial<Record<Layer, string>>): Configuration & { readonly root: string } {
  const root = mkdtempSync(join(tmpdir(), 'wield-config-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const files = { managed: 'managed/config.toml', user: 'home/config.toml', project: 'project/.agents/config.toml' };
  mkdirSync(join(root, 'home'));
  mkdirSync(join(root, 'managed'));
  mkdirSync(join(root, 'project/.agents'), { recursive: true });
  for (const [layer, text] of Object.entries(texts)) writeFileSync(join(root, files[layer as Layer]), text);
  const read = createConfiguration({
    managed: join(root, 'managed'),
    wieldHome: join(root, 'home'),
    now: Date.now,
  });
  return { ...read(join(root, 'project')), root };
}

const timeout = (value: string): string => `[limits]\ntimeout = "${value}"\n`;

describe('layers', () => {
  spec('POL-11', 'a limit is the lowest of those above it', () => {
    const limit = (texts: Partial<Record<Layer, string>>): number => configure(texts).settings.limits.timeoutMs / 1000;
    expect(limit({})).toBe(300);
    expect(limit({ managed: timeout('60s') })).toBe(60);
    expect(limit({ managed: timeout('60s'), user: timeout('90s') })).toBe(60);
    expect(limit({ managed: timeout('60s'), user: timeout('30s') })).toBe(30);
    expect(limit({ managed: timeout('60s'), user: timeout('30s'), project: timeout('45s') })).toBe(30);
    expect(limit({ managed: timeout('60s'), project: timeout('10s') })).toBe(10);
    // A user may raise a default; a project may not.
    expect(limit({ user: timeout('20m') })).toBe(1200);
    expect(limit({ project: timeout('20m') })).toBe(300);
    expect(limit({ user: timeout('20m'), project: timeout('10m') })).toBe(600);
    expect(limit({ managed: timeout('20m'), user: timeout('40m'), project: timeout('30m') })).toBe(1200);
  });

  spec('POL-11', "a tool's own limit is no way around the general one of a layer above", () => {
    const tool = (value: string): string => `[tools.build]\ntimeout = "${value}"\n`;
    // A user's word is the limit itself, a project's only a ceiling for it.
    const limit = (texts: Partial<Record<Layer, string>>): number | undefined => {
      const own = configure(texts).settings.tools.get('build');
      return own?.timeoutMs ?? own?.timeoutCeilingMs;
    };
    expect(limit({ user: tool('1h') })).toBe(3_600_000);
    expect(limit({ user: timeout('10s') + tool('1h') })).toBe(3_600_000);
    expect(limit({ user: timeout('10s'), project: tool('1h') })).toBeUndefined();
    expect(limit({ project: tool('1h') })).toBeUndefined();
    expect(limit({ project: tool('1m') })).toBe(60_000);
    expect(limit({ managed: timeout('1m'), user: tool('1h') })).toBeUndefined();
    expect(limit({ managed: timeout('1m'), user: timeout('1s') + tool('30s') })).toBe(30_000);
    expect(limit({ user: tool('1h'), project: tool('30m') })).toBe(1_800_000);
    expect(limit({ user: tool('30m'), project: tool('1h') })).toBe(1_800_000);
  });

  spec('POL-11', 'a project cannot pass variables, offer built-ins or name roots', () => {
    const widening =
      '[env]\npass = ["SECRET"]\n[tools.x.env]\npass = ["SECRET"]\n[builtin]\noffer = ["workdir"]\n[workdir]\nroots = ["/"]\n';
    const { settings, problems } = configure({ project: widening });
    expect(settings).toMatchObject({ env: { pass: [] }, offer: [], roots: [] });
    expect(settings.tools.get('x')?.pass).toBeUndefined();
    expect(problems).toHaveLength(4);
    for (const { message, hint } of problems) {
      expect(message).toMatch(/^line \d+: a project cannot set /);
      expect(hint).toContain('config.toml');
    }
    expect(configure({ user: widening }).settings).toMatchObject({
      env: { pass: ['SECRET'] },
      offer: ['workdir'],
      roots: ['/'],
    });
    const bounded = configure({ managed: '[env]\npass = []\n', user: widening });
    expect(bounded.settings.env.pass).toEqual([]);
  });

  spec('POL-11', 'what holds is told with layer, file and line', () => {
    const { entries, root } = configure({
      user: '# comment\n\n[limits]\noutput = "1M"\ntimeout = "1m"\n',
      project: 'repair = false\n\n[limits]\ntimeout = "10s"\n',
    });
    const entry = (key: string) => entries().find((one) => one.key === key);
    expect(entry('limits.timeout')).toMatchObject({
      value: 10_000,
      shown: '"10s"',
      layer: 'project',
      file: join(root, 'project/.agents/config.toml'),
      line: 4,
    });
    expect(entry('limits.output')).toMatchObject({ layer: 'user', line: 4, value: 1024 * 1024 });
    expect(entry('repair')).toMatchObject({ value: false, layer: 'project', line: 1 });
    expect(entry('limits.queue')).toMatchObject({ layer: 'default', file: null, line: null });
  });
});
