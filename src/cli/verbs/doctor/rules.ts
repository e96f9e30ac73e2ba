// Finds rules, names and sandboxes of the configuration that have no effect.

import { dirname } from 'node:path';
import { isRecord } from '../../../core/json.js';
import type { Problem } from '../../../core/problem.js';
import type { AllowList, Policy, Rule } from '../../../core/rule.js';
import { BUILTIN_PROFILES, CLOSED_PROFILES, type SandboxRule, type SandboxTable } from '../../../core/sandbox.js';
import { matchSelectorTool } from '../../../core/selector-match.js';
import { didYouMean } from '../../../core/text.js';
import type { Tool } from '../../../core/tool.js';
import type { Survey } from '../../../core/toolbox.js';
import type { View } from '../../../core/view.js';
import { fromFileUri, realPath } from '../../../files/within.js';
import type { NodeToolbox } from '../../../node.js';
import { toSelected } from '../../../policy/selected-tool.js';
import { findPathFault, toPath } from '../../../process/sandbox/profile.js';

/** `view` has the names that models use, which rules do not (RES-48); `policy` gives tools labels, which rules select like tags. */
export function ruleProblems(rules: readonly Rule[], survey: Survey, view: View, policy: Policy): Problem[] {
  const tools = [...survey.tools, ...survey.unlisted, ...survey.denied.map(({ tool }) => tool)];
  return rules.flatMap((rule) => findProblem(rule, tools, view, policy) ?? []);
}

export function allRules(policy: Policy, profiles: Iterable<Profile>): readonly Rule[] {
  const { lists, rules, projectRules, labels = [] } = policy;
  const ofLists = [...lists, ...labels].flatMap((list) => list.rules);
  return [...ofLists, ...rules, ...projectRules, ...[...profiles].flatMap(rulesOf)];
}

export function rulesOf({ lists, rules }: Profile): readonly Rule[] {
  return [...lists.flatMap((list) => list.rules), ...rules.flat()];
}

interface Profile {
  readonly lists: readonly AllowList[];
  readonly rules: readonly (readonly Rule[])[];
}

// What is not a tool: known only to its server.
const OTHERS = /^(?:resource|prompt|instructions|sampling|roots):/;

function findProblem(rule: Rule, tools: readonly Tool[], view: View, policy: Policy): Problem | undefined {
  const { selector } = rule;
  if (OTHERS.test(selector.text)) return undefined;
  const warn = (message: string, hint: string): Problem => toWarning(rule, `${selector.text} ${message}`, hint);
  const matching = tools.filter((tool) => matchSelectorTool(selector, toSelected(tool, policy).loose));
  if (matching.length === 0) {
    const original = view.originals.get(nameIn(selector.text));
    if (original !== undefined)
      return warn('matches no tool', `it is a new name, which rules and profiles do not use: write ${original}`);
    const names = selector.over === 'name' ? tools.map(({ name }) => name) : [];
    return warn('matches no tool', suggest(nameIn(selector.text), names));
  }
  const names = matching.map(parameterNames);
  // A tool that accepts any parameter may have this one.
  if (names.includes(undefined)) return undefined;
  const known = [...new Set(names.flatMap((list) => list ?? []))];
  const unknown = selector.arguments.find(({ key }) => !known.includes(key));
  if (unknown === undefined) return undefined;
  const hint = didYouMean(unknown.key, known, `known arguments: ${known.join(', ') || 'none'}`);
  return warn(`names the argument "${unknown.key}", which no matching tool has`, hint);
}

function parameterNames({ input: { json } }: Tool): readonly string[] | undefined {
  const isOpen = json.additionalProperties !== undefined && json.additionalProperties !== false;
  const isCombined = ['allOf', 'anyOf', 'oneOf', '$ref', 'patternProperties'].some((key) => key in json);
  if (isOpen || isCombined) return undefined;
  return isRecord(json.properties) ? Object.keys(json.properties) : [];
}

function nameIn(text: string): string {
  return text.replace(/\(.*$/s, '').replace(/^\$/, '');
}

type Configuration = ReturnType<NodeToolbox['state']['configuration']>;

export function offerProblems({ settings, entries }: Configuration, { tools, unlisted }: Survey): Problem[] {
  const known = [...tools, ...unlisted]
    .filter(({ origin }) => origin.format === 'builtin')
    .flatMap(({ name, traits }) => [name, traits.group ?? name]);
  const place = entries().find(({ key }) => key === 'builtin.offer');
  return settings.offer
    .filter((name) => !known.includes(name))
    .map((name) => {
      const hint = didYouMean(name, known, `use one of ${[...new Set(known)].join(', ')}`);
      return toWarning(place, `builtin.offer: unknown built-in tool or group "${name}"`, hint);
    });
}

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
    const hint = suggest(sandbox.profile, [...CLOSED_PROFILES, ...profiles.keys()]);
    return [toWarning({ file: fromFileUri(origin.uri) }, message, hint)];
  });
  const ofConfiguration = entries().flatMap((entry) => {
    const [, name] = /^sandbox\.(.+)$/s.exec(entry.key) ?? [];
    if (name === undefined) return [];
    const isRule = /^rules(?:\.\d+)?$/.test(name);
    const found = isRule ? findInRule(entry.value as SandboxRule) : findInTable(name, entry.value as SandboxTable);
    if (found === undefined) return [];
    const [message, hint] = found;
    return [toWarning(entry, `${isRule ? '[[sandbox]]' : `[sandbox.${name}]`} ${message}`, hint)];
  });
  return [...ofConfiguration, ...ofTools];
}

function suggest(name: string, known: readonly string[]): string {
  return didYouMean(name, known, 'wield list --all shows the tools');
}

interface Position {
  readonly file?: string | null | undefined;
  readonly line?: number | null | undefined;
}

function toWarning(place: Position | undefined, message: string, hint: string): Problem {
  return { severity: 'warning', path: place?.file ?? '', line: place?.line ?? undefined, message, hint };
}
