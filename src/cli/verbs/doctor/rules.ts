// Finds rules of the configuration that match no tool, or name arguments that no tool has (POL-9).

import { isRecord } from '../../../core/json.js';
import type { Problem } from '../../../core/problem.js';
import type { AllowList, Policy, Rule } from '../../../core/rule.js';
import { matchSelectorTool } from '../../../core/selector.js';
import { nearest } from '../../../core/text.js';
import type { Tool } from '../../../core/tool.js';
import type { Survey } from '../../../core/toolbox.js';
import type { View } from '../../../core/view.js';

export interface RulesToCheck {
  readonly rules: readonly Rule[];
  readonly survey: Survey;
  /** The names that models use, which rules do not (RES-48). */
  readonly view: View;
}

export function ruleProblems({ rules, survey, view }: RulesToCheck): Problem[] {
  const tools = [...survey.tools, ...survey.unlisted, ...survey.denied.map(({ tool }) => tool)];
  return rules.flatMap((rule) => findProblem(rule, tools, view) ?? []);
}

/** The rules of a policy and of all profiles. */
export function allRules({ lists, rules, projectRules }: Policy, profiles: Iterable<Profile>): readonly Rule[] {
  return [...lists.flatMap((list) => list.rules), ...rules, ...projectRules, ...[...profiles].flatMap(rulesOf)];
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

function findProblem({ selector, file, line }: Rule, tools: readonly Tool[], view: View): Problem | undefined {
  if (OTHERS.test(selector.text)) return undefined;
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
    const original = view.originals.get(nameIn(selector.text));
    if (original !== undefined)
      return warn('matches no tool', `it is a new name, which rules and profiles do not use: write ${original}`);
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
