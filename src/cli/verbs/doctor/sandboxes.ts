// Finds tables and rules of sandboxes that have no effect (EXE-10).

import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Problem } from '../../../core/problem.js';
import { BUILTIN_PROFILES, type SandboxRule, type SandboxTable } from '../../../core/sandbox.js';
import { matchSelectorTool } from '../../../core/selector.js';
import { nearest } from '../../../core/text.js';
import type { Survey } from '../../../core/toolbox.js';
import { realPath } from '../../../files/within.js';
import type { NodeToolbox } from '../../../node.js';
import { findPathFault, toPath } from '../../../process/sandbox/profile.js';

type Configuration = ReturnType<NodeToolbox['state']['configuration']>;
type Entry = Configuration['entries'][number];

export function sandboxProblems(toolbox: NodeToolbox, { entries, settings }: Configuration, survey: Survey): Problem[] {
  const tools = [...survey.tools, ...survey.unlisted, ...survey.denied.map(({ tool }) => tool)];
  const { servers } = toolbox.state.snapshot().servers;
  const { profiles } = settings.sandbox;
  const names = [...tools, ...servers].map(({ name }) => name);
  const asked = [
    ...tools.map(({ traits }) => traits.sandbox),
    ...servers.map((one) => ('sandbox' in one ? one.sandbox : undefined)),
  ];
  const used = [
    'hooks',
    ...names,
    ...asked.map((one) => one?.profile),
    ...settings.sandbox.rules.map((one) => one.profile),
  ];

  const isKnown = (profile: string): boolean =>
    profiles.has(profile) || BUILTIN_PROFILES.some((one) => one === profile);
  const findInRule = ({ profile, selectors }: SandboxRule): [string, string] | undefined => {
    if (profile === 'none')
      return ['has the profile none, which changes nothing', 'a table [sandbox.TOOL] replaces what a tool asks for'];
    if (!isKnown(profile))
      return [`names an unknown profile "${profile}"`, suggest(profile, [...BUILTIN_PROFILES, ...profiles.keys()])];
    const unmatched = selectors.find(
      (selector) =>
        !tools.some(({ name, traits, origin }) =>
          matchSelectorTool(selector, { name, tags: traits.tags, builtin: origin.builtin }),
        ) &&
        !matchSelectorTool(selector, { name: 'hooks' }) &&
        !servers.some(({ name }) => [name, `${name}_*`].some((one) => matchSelectorTool(selector, { name: one }))),
    );
    return unmatched && [`matches no tool or server: ${unmatched.text}`, suggest(unmatched.text, names)];
  };
  const findInTable = (
    name: string,
    { read = [], write = [], deny = [] }: SandboxTable,
  ): [string, string] | undefined => {
    const places = { workdir: toolbox.workspace.workdir, home: toolbox.machine.world.home };
    for (const path of [...read, ...write, ...deny]) {
      const fault = findPathFault(path, places);
      if (fault !== undefined) return [`has ${fault}: ${path}`, 'write the paths of files and directories'];
    }
    const missing = [...read, ...deny].find((path) => realPath(toPath(path, places)) === undefined);
    if (missing !== undefined)
      return [`names ${missing}, which does not exist`, 'check the path; it starts at the workdir'];
    const unmade = write.find((path) => realPath(dirname(toPath(path, places))) === undefined);
    if (unmade !== undefined) return [`names ${unmade}, whose directory does not exist`, 'create the directory'];
    return used.includes(name) ? undefined : ['is not used', suggest(name, names)];
  };

  const ofTools = tools.flatMap(({ name, origin, traits: { sandbox } }): Problem[] => {
    if (sandbox === undefined || isKnown(sandbox.profile) || profiles.has(name)) return [];
    const message = `${name} asks for an unknown sandbox profile "${sandbox.profile}"`;
    const hint = suggest(sandbox.profile, [...BUILTIN_PROFILES, ...profiles.keys()]);
    return [
      { severity: 'warning', path: origin.uri?.startsWith('file:') ? fileURLToPath(origin.uri) : '', message, hint },
    ];
  });
  const ofConfiguration = entries.flatMap((entry) => {
    const [, name] = /^sandbox\.(.+)$/s.exec(entry.key) ?? [];
    if (name === undefined) return [];
    const isRule = /^rules(?:\.\d+)?$/.test(name);
    const found = isRule ? findInRule(entry.value as SandboxRule) : findInTable(name, entry.value as SandboxTable);
    return found === undefined ? [] : [toProblem(entry, isRule ? '[[sandbox]]' : `[sandbox.${name}]`, ...found)];
  });
  return [...ofConfiguration, ...ofTools];
}

function suggest(name: string, known: readonly string[]): string {
  const [close] = nearest(name, known);
  return close === undefined ? 'wield list --all shows the tools' : `did you mean ${close}?`;
}

function toProblem({ file, line }: Entry, what: string, message: string, hint: string): Problem {
  return { severity: 'warning', path: file ?? '', line: line ?? undefined, message: `${what} ${message}`, hint };
}
