// Finds rules of the configuration that match no tool, or name arguments that no tool has (POL-9).

import { isRecord } from '../../../core/json.js';
import type { Problem } from '../../../core/problem.js';
import type { Policy, Rule } from '../../../core/rule.js';
import { matchSelectorTool } from '../../../core/selector.js';
import { nearest } from '../../../core/text.js';
import type { Tool } from '../../../core/tool.js';
import type { Survey } from '../../../core/toolbox.js';

export function ruleProblems({ lists, rules, projectRules, profileRules = [] }: Policy, survey: Survey): Problem[] {
  const tools = [...survey.tools, ...survey.unlisted, ...survey.denied.map(({ tool }) => tool)];
  const all = [...lists.flatMap((list) => list.rules), ...rules, ...projectRules, ...profileRules.flat()];
  return all.flatMap((rule) => findProblem(rule, tools) ?? []);
}

// What is not a tool: known only to its server.
const OTHERS = /^(?:resource|prompt|instructions|sampling|roots):/;

function findProblem({ selector, file, line }: Rule, tools: readonly Tool[]): Problem | undefined {
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
