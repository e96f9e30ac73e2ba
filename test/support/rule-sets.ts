// Generated rule sets, their text in the configuration, and a small reference implementation of the policy.

import fc from 'fast-check';
import type { JsonObject } from '../../src/index.js';

export type Decision = 'allow' | 'ask' | 'deny';

/** The tool that makes a nested call; defined in code. */
export const THROUGH = 'doorway';
/** Name prefix of the other tools that make nested calls; the patterns do not distinguish them. */
export const BETWEEN = 'doorway-';

/** The tools of `createRuledWorkspace`: two scripts, a destructive one, a command and a built-in tool. */
export const TOOLS = ['file-read', 'file-write', 'deploy', 'lookup', 'read_skill'] as const;
export type ToolName = (typeof TOOLS)[number];

/** Tools of search mode that calls and listings go through; like `read_skill` they need not be listed (POL-12). */
export const FORWARDING = 'call_tool';
export const SEARCHING = 'search_tools';
/** The tool of code mode that runs programs. */
export const RUNNING = 'run_code';
const ALWAYS: readonly string[] = ['read_skill', FORWARDING, SEARCHING, RUNNING];

export interface Pattern {
  readonly text: string;
  readonly about: readonly string[];
}

interface Constraint {
  readonly text: string;
  readonly holds: (input: JsonObject) => boolean;
  /** Holds only in a session that has read untrusted content (FLW-4). */
  readonly after?: true;
}

export interface SetSelector {
  readonly pattern: Pattern;
  readonly constraint: Constraint | undefined;
  readonly directive: '' | '$deny' | '$policy=allow' | '$policy=ask' | '$policy=deny';
}

export interface RuleSet {
  readonly userList: readonly SetSelector[] | undefined;
  readonly projectList: readonly SetSelector[] | undefined;
  readonly userRules: readonly SetSelector[];
  readonly projectRules: readonly SetSelector[];
  /** The user's file contains an invalid selector. */
  readonly broken: boolean;
}

export interface Probe {
  readonly tool: ToolName;
  readonly input: JsonObject;
}

const ALL = [...TOOLS, THROUGH, BETWEEN, FORWARDING, SEARCHING, RUNNING];

// Written by hand, so that no pattern is parsed here.
const PATTERNS: readonly Pattern[] = [
  { text: '*', about: ALL },
  { text: '**', about: ALL },
  { text: 'file-*', about: ['file-read', 'file-write'] },
  { text: 'file-read', about: ['file-read'] },
  { text: 'File-Read', about: [] },
  { text: '{deploy,lookup}', about: ['deploy', 'lookup'] },
  { text: '*oo*', about: ['lookup', THROUGH, BETWEEN, FORWARDING, SEARCHING] },
  { text: '[d-f]*', about: ['deploy', 'file-read', 'file-write', THROUGH, BETWEEN] },
  { text: '[!d-f]*', about: ['lookup', ...ALWAYS] },
  { text: 'read_?kill', about: ['read_skill'] },
  { text: '$*', about: ALWAYS },
  { text: '$deploy', about: [] },
  { text: '#net', about: ['file-write'] },
  { text: '#*', about: ['file-write', 'deploy', ...ALWAYS] },
  { text: '#destructive', about: ['deploy'] },
  { text: '#meta-internal', about: ALWAYS },
  { text: THROUGH, about: [THROUGH] },
  { text: 'nobody', about: [] },
];

const CONSTRAINTS: readonly Constraint[] = [
  { text: 'op=push', holds: ({ op }) => op === 'push' },
  { text: 'op={push,reset}', holds: ({ op }) => op === 'push' || op === 'reset' },
  { text: 'op=*', holds: ({ op }) => op !== undefined },
  { text: 'force=true', holds: ({ force }) => force === true },
  { text: 'op=re*, force=true', holds: ({ op, force }) => op === 'reset' && force === true },
  { text: 'other=*', holds: () => false },
];

/** Constraints that depend on the session. */
const AFTER: readonly Constraint[] = [
  { text: '$after=untrusted', holds: () => true, after: true },
  { text: 'op=push, $after=untrusted', holds: ({ op }) => op === 'push', after: true },
  { text: '$after=untrusted+private', holds: () => false, after: true },
];

const INPUTS: readonly JsonObject[] = [
  {},
  { op: 'push' },
  { op: 'log' },
  { op: 'reset', force: true },
  { op: 'reset', force: false },
];

/** Rule sets of these patterns; the first must match everything. */
export function ruleSetsOf(
  patterns: readonly Pattern[],
  constraints: readonly Constraint[] = CONSTRAINTS,
): fc.Arbitrary<RuleSet> {
  const selector = fc
    .record<SetSelector>({
      pattern: fc.constantFrom(...patterns),
      constraint: fc.option(fc.constantFrom(...constraints), { nil: undefined, freq: 2 }),
      directive: fc.oneof(
        { weight: 4, arbitrary: fc.constant('' as const) },
        { weight: 1, arbitrary: fc.constantFrom('$deny', '$policy=allow', '$policy=ask', '$policy=deny') },
      ),
    })
    // What was read only restricts.
    .map((one) =>
      one.constraint?.after && one.directive === '$policy=allow' ? { ...one, directive: '$deny' as const } : one,
    );
  const everything: SetSelector = { pattern: patterns[0]!, constraint: undefined, directive: '' };
  // Most lists begin with `*`, otherwise most sets would deny everything.
  const list = fc
    .tuple(fc.boolean(), fc.array(selector, { maxLength: 4 }))
    .map(([wide, selectors]) => (wide ? [everything, ...selectors] : selectors));
  const rules = fc.array(selector, { maxLength: 4 });

  return fc.record({
    userList: fc.option(list, { nil: undefined, freq: 2 }),
    projectList: fc.option(list, { nil: undefined, freq: 1 }),
    userRules: rules,
    projectRules: fc.oneof(fc.constant([]), rules),
    broken: fc.oneof({ weight: 19, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  });
}

export const ruleSets = ruleSetsOf(PATTERNS);
/** Those that also depend on what the session has read. */
export const flowRuleSets = ruleSetsOf(PATTERNS, [...CONSTRAINTS, ...AFTER, ...AFTER]);

export const probes: fc.Arbitrary<Probe> = fc
  .record({
    tool: fc.constantFrom(...TOOLS),
    input: fc.constantFrom(...INPUTS),
  })
  .map(({ tool, input }) => (tool === 'read_skill' ? { tool, input: { skill_name: 'notes' } } : { tool, input }));

function textOf({ pattern, constraint, directive }: SetSelector): string {
  const specifier = [constraint?.text, directive].filter((part) => part !== undefined && part !== '');
  return pattern.text + (specifier.length === 0 ? '' : `(${specifier.join(',')})`);
}

/** Returns the two files of a set; half of the lists are strings, half arrays. */
export function toFiles(set: RuleSet): { readonly user: string; readonly project: string } {
  const value = (selectors: readonly SetSelector[]): string => {
    const texts = selectors.map(textOf);
    return JSON.stringify(selectors.length % 2 === 0 ? texts : texts.join(' '));
  };
  const file = (allowed: readonly SetSelector[] | undefined, trust: readonly SetSelector[]): string =>
    `${allowed === undefined ? '' : `allowed-tools = ${value(allowed)}\n`}[trust]\nrules = ${value(trust)}\n`;
  const user = file(set.userList, set.userRules);
  return {
    user: set.broken ? user.replace(/rules = .*/, 'rules = "a("') : user,
    project: file(set.projectList, set.projectRules),
  };
}

/** Returns the decision for a call by POL-2 to POL-5, POL-9 and POL-12, and by FLW-4 if untrusted content was read. */
export function judge(set: RuleSet, tool: string, input: JsonObject, isModel: boolean, hasRead = false): Decision {
  const standard = isModel && tool === 'deploy' ? 'ask' : 'allow';
  const judgeAs = (read: boolean): Decision =>
    judgeBy(
      set,
      tool,
      ({ constraint }) => constraint === undefined || ((read || !constraint.after) && constraint.holds(input)),
      standard,
    );
  return ORDER[Math.max(...[false, hasRead].map((read) => ORDER.indexOf(judgeAs(read))))]!;
}

/** Returns whether a name is hidden by POL-8: every call is denied, whatever its input. */
export function isHidden(set: RuleSet, tool: string): boolean {
  if (set.broken) return true;
  const constrained = selectorsOf(set).filter(
    ({ pattern, constraint }) => constraint !== undefined && !constraint.after && pattern.about.includes(tool),
  );
  for (let bits = 0; bits < 2 ** constrained.length; bits++) {
    const met = new Set(constrained.filter((_, index) => (bits >> index) % 2 === 1));
    if (judgeBy(set, tool, (one) => one.constraint === undefined || met.has(one)) !== 'deny') return false;
  }
  return true;
}

function selectorsOf({ userList = [], projectList = [], userRules, projectRules }: RuleSet): SetSelector[] {
  return [...userList, ...projectList, ...userRules, ...projectRules];
}

const ORDER: readonly Decision[] = ['allow', 'ask', 'deny'];

function judgeBy(
  set: RuleSet,
  tool: string,
  meets: (selector: SetSelector) => boolean,
  standard: Decision = 'allow',
): Decision {
  if (set.broken) return 'deny';
  const applies = (one: SetSelector): boolean => one.pattern.about.includes(tool) && meets(one);
  const lists = [set.userList, set.projectList].filter((one) => one !== undefined);
  if (selectorsOf(set).some((one) => one.directive === '$deny' && applies(one))) return 'deny';
  if (lists.flat().some((one) => one.directive === '$policy=deny' && applies(one))) return 'deny';
  const byRules = [set.userRules, set.projectRules].map((trust): Decision => {
    const first = trust.find(applies);
    if (first === undefined) return trust === set.userRules ? standard : 'allow';
    return first.directive === '' ? 'ask' : (first.directive.slice('$policy='.length) as Decision);
  });
  if (ALWAYS.includes(tool)) return byRules.includes('deny') ? 'deny' : 'allow';
  const byLists = lists.map((one): Decision => {
    const selecting = one.filter((each) => each.directive !== '$policy=deny' && applies(each));
    if (selecting.length === 0) return 'deny';
    return selecting.some((each) => each.directive === '$policy=ask') ? 'ask' : 'allow';
  });
  return ORDER[Math.max(0, ...[...byRules, ...byLists].map((one) => ORDER.indexOf(one)))]!;
}
