// Finds rules of the configuration that match no tool, or name arguments that no tool has (POL-9), and unknown built-in
// tools.

import { isRecord } from '../../../core/json.js';
import type { Problem } from '../../../core/problem.js';
import type { Policy, Rule } from '../../../core/rule.js';
import { matchSelectorTool } from '../../../core/selector.js';
import { nearest } from '../../../core/text.js';
import type { Tool } from '../../../core/tool.js';
import type { Survey } from '../../../core/toolbox.js';
import type { NodeToolbox } from '../../../node.js';

type Configuration = ReturnType<NodeToolbox['state']['configuration']>;

export function ruleProblems({ lists, rules, projectRules }: Policy, survey: Survey): Problem[] {
  const tools = [...survey.tools, ...survey.unlisted, ...survey.denied.map(({ tool }) => tool)];
  const all = [...lists.flatMap((list) => list.rules), ...rules, ...projectRules];
  return all.flatMap((rule) => findProblem(rule, tools) ?? []);
}

/** Finds names in `builtin.offer` that are neither a built-in tool nor a group of them. */
export function offerProblems({ settings, entries }: Configuration, { tools, unlisted }: Survey): Problem[] {
  const known = [...tools, ...unlisted]
    .filter(({ origin }) => origin.format === 'builtin')
    .flatMap(({ name, traits }) => [name, traits.group ?? name]);
  const place = entries.find(({ key }) => key === 'builtin.offer');
  return settings.offer
    .filter((name) => !known.includes(name))
    .map((name) => {
      const [close] = nearest(name, known);
      const hint = close === undefined ? `use one of ${[...new Set(known)].join(', ')}` : `did you mean ${close}?`;
      const message = `builtin.offer: unknown built-in tool or group "${name}"`;
      return { severity: 'warning', path: place?.file ?? '', line: place?.line ?? undefined, message, hint };
    });
}

function findProblem({ selector, file, line }: Rule, tools: readonly Tool[]): Problem | undefined {
  const warn = (message: string, hint: string): Problem => ({
    severity: 'warning',
    path: file ?? '',
    line: line ?? undefined,
    message: `${selector.text} ${message}`,
    hint,
  });
  const matching = tools.filter(({ name, traits, origin }) => {
    const tags = traits.destructive ? [...traits.tags, 'destructive'] : traits.tags;
    return matchSelectorTool(selector, { name, tags, builtin: origin.builtin === true });
  });
  if (matching.length === 0) {
    const [close] =
      selector.over === 'name'
        ? nearest(
            nameIn(selector.text),
            tools.map(({ name }) => name),
          )
        : [];
    return warn('matches no tool', close === undefined ? 'wield list --all shows the tools' : `did you mean ${close}?`);
  }
  const names = matching.map(parameterNames);
  // A tool that accepts any parameter may have this one.
  if (names.includes(undefined)) return undefined;
  const known = [...new Set(names.flatMap((list) => list ?? []))];
  const unknown = selector.arguments.find(({ key }) => !known.includes(key));
  if (unknown === undefined) return undefined;
  const [close] = nearest(unknown.key, known);
  const hint = close === undefined ? `known arguments: ${known.join(', ') || 'none'}` : `did you mean ${close}?`;
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
