// Reads the targets and variables of a Makefile without evaluating anything.

import type { Steps } from '../shared/known-commands.js';
import type { JudgedTask } from '../shared/task-words.js';
import { createVariables, type Variables } from './variables.js';

export interface Target extends JudgedTask {
  readonly line: number;
  /** Whether it is a task: others are files, patterns or of make. */
  readonly isTask: boolean;
  /** Why it cannot be offered. */
  readonly fault: string | undefined;
  readonly about: string | undefined;
  /** The lines of its recipe. */
  readonly recipe: string;
}

export interface Makefile {
  readonly targets: readonly Target[];
  /** Variables with `?=` and their values. */
  readonly variables: ReadonlyMap<string, string>;
  /** Variables that may be set: the file gives them a value, and uses them as arguments of programs only. */
  readonly settable: ReadonlySet<string>;
  readonly includes: readonly { readonly name: string; readonly line: number }[];
}

interface Line {
  readonly text: string;
  readonly number: number;
}

// A rule: targets, then : or :: or &:, but not an assignment.
const RULE = /^([^\s#=:][^=:#]*?)\s*&?::?(?![:=])(.*)$/;
const FUNCTION = /^\$[({](?:error|warning|info|eval|call|foreach|if|shell|file)\b/;
const VARIABLE = /^(?:export\s+|override\s+)*([A-Za-z_][A-Za-z0-9_]*)\s*\?=\s*(.*)$/;
// A value for one target: `test: CGO_ENABLED := 0`.
const OF_TARGET = /^\s*(?:(?:export|override|private)\s+)*[\w.-]+\s*(?:[:?+!]|::)?=/;

export function readMakefile(text: string): Makefile {
  const found = new Map<
    string,
    { name: string; line: number; about: string | undefined; recipe: string[]; needs: string[] }
  >();
  const variables = new Map<string, string>();
  const uses = createVariables();
  const includes: { name: string; line: number }[] = [];
  const phony = new Set<string>();
  const branches = createBranches();
  let defining = 0;
  let prefix = '\t';
  let comment: string[] = [];
  // The targets whose recipe is read, and whether the line before was one of theirs.
  let current: { recipe: string[] }[] = [];
  for (const { text: line, number } of joinLines(text)) {
    if (defining > 0) {
      uses.addOther(line);
      if (/^\s*endef\b/.test(line)) defining--;
      else if (/^\s*define\b/.test(line)) defining++;
      continue;
    }
    if (line.startsWith(prefix)) {
      for (const { recipe } of current) recipe.push(line.slice(1));
      uses.addRecipe(line.slice(1));
      comment = [];
      continue;
    }
    const bare = line.trim();
    if (bare.startsWith('#')) {
      comment.push(bare);
      continue;
    }
    if (bare === '') {
      comment = [];
      continue;
    }
    uses.addDeclaration(bare);
    if (/^\.RECIPEPREFIX\s*[:?]?=/.test(bare)) prefix = bare.replace(/^[^=]*=\s*/, '')[0] ?? '\t';
    else if (/^(?:override\s+|export\s+)*define\b/.test(bare)) defining++;
    else if (/^(?:ifeq|ifneq|ifdef|ifndef|else|endif)\b/.test(bare)) {
      branches.read(bare);
      // The recipe goes on.
      continue;
    } else if (/^[-s]?include\s/.test(bare)) includes.push({ name: bare.replace(/^\S+\s+/, ''), line: number });
    else if (VARIABLE.test(bare)) {
      const [, name = '', value = ''] = VARIABLE.exec(bare)!;
      if (!variables.has(name)) variables.set(name, value.replace(/\s+#.*$/, '').trim());
    } else {
      const rule = FUNCTION.test(bare) ? null : RULE.exec(line);
      if (rule === null) {
        comment = [];
        current = [];
        continue;
      }
      const [, names = '', rest = ''] = rule;
      if (/^\.PHONY$/.test(names.trim())) {
        for (const name of splitNames(rest.replace(/#.*$/, ''))) phony.add(name);
        // The comment above is that of the target below.
        continue;
      }
      const about = aboutOf(rest, comment, splitNames(names));
      comment = [];
      current = [];
      if (OF_TARGET.test(rest)) continue;
      const inline = /;(.*)$/.exec(rest.replace(/#.*$/, ''))?.[1];
      for (const name of splitNames(names)) {
        branches.add(name);
        const known = found.get(name) ?? { name, line: number, about: undefined, recipe: [], needs: [] };
        known.needs.push(rest.replace(/#.*$/, ''));
        found.set(name, { ...known, about: known.about ?? about });
        if (inline !== undefined) known.recipe.push(inline);
        current.push(known);
      }
      continue;
    }
    comment = [];
    current = [];
  }
  const targets = [...found.values()].map((target): Target => {
    const { name, about, needs, recipe } = target;
    const isCertain = branches.isCertain(name);
    const isVariable = isCertain && name.includes('$');
    return {
      ...target,
      isTask: isVariable || isTask(name, about, phony),
      fault: isVariable
        ? 'named by a variable, which only make can expand'
        : isCertain
          ? undefined
          : 'declared in a conditional, which only make can evaluate',
      recipe: recipe.join('\n'),
      runs: [...needs, ...recipe].join('\n'),
      steps: stepsOf(target, [...found.keys()], uses),
    };
  });
  return { targets, variables, settable: uses.findSettable(), includes };
}

// Recipes, and prerequisites that are targets: by name, by a pattern, or by a variable with one value. Others are files.
function stepsOf(
  { recipe, needs }: { readonly recipe: readonly string[]; readonly needs: readonly string[] },
  targets: readonly string[],
  { expand }: Variables,
): Steps | undefined {
  const named = needs.map((text) => expand(text.replace(/;.*$/, ''))).join(' ');
  if (/[$%*?=:()]/.test(named)) return undefined;
  const tasks = (named.match(/[^\s|]+/g) ?? []).flatMap((need) => {
    const isNamed = (target: string): boolean => {
      const [before = '', ...after] = expand(target).split('%');
      const end = after.join('%');
      return after.length === 0
        ? before === need || before.includes('$')
        : need.startsWith(before) && need.endsWith(end) && need.length > before.length + end.length;
    };
    const all = targets.filter(isNamed);
    return all.length > 0 || /[./]/.test(need) ? all : [need];
  });
  return { commands: recipe.map((line) => expand(line).replace(/^[\s@+-]+/, '')), tasks };
}

// Which names are declared whatever the conditionals are: outside of them, or in each of their branches.
function createBranches() {
  type Conditional = { readonly all: Set<string>[]; hasElse: boolean };
  const certain = new Set<string>();
  const open: Conditional[] = [];
  const current = (): Set<string> => open.at(-1)?.all.at(-1) ?? certain;
  return {
    read(line: string): void {
      if (line.startsWith('if')) open.push({ all: [new Set()], hasElse: false });
      else if (line.startsWith('else')) {
        const last = open.at(-1);
        last?.all.push(new Set());
        if (last !== undefined && !/^else\s+if/.test(line)) last.hasElse = true;
      } else {
        const { all = [], hasElse = false } = open.pop() ?? {};
        const [first = new Set<string>(), ...others] = all;
        if (hasElse) for (const name of first) if (others.every((one) => one.has(name))) current().add(name);
      }
    },
    add: (name: string): unknown => current().add(name),
    isCertain: (name: string): boolean => certain.has(name),
  };
}

// Joins lines that end with a backslash.
function* joinLines(text: string): Generator<Line> {
  let joined = '';
  let first = 0;
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const isOpen = joined !== '';
    if (!isOpen) first = index + 1;
    const line = isOpen ? raw.trim() : raw;
    if (/(?:^|[^\\])(?:\\\\)*\\$/.test(line)) {
      joined += `${line.slice(0, -1)} `;
      continue;
    }
    yield { text: joined + line, number: first };
    joined = '';
  }
  if (joined !== '') yield { text: joined, number: first };
}

// A name in $(…) may contain spaces, and elsewhere escaped ones.
function splitNames(text: string): string[] {
  return text.match(/(?:\$\([^)]*\)|\$\{[^}]*\}|\\.|[^\s$]|\$)+/g) ?? [];
}

// Special targets, patterns and files are not tasks; a file can be one if it is phony or described.
function isTask(name: string, about: string | undefined, phony: ReadonlySet<string>): boolean {
  if (/[%*?$\\()]/.test(name) || /^\.[A-Z_]+$/.test(name)) return false;
  return phony.has(name) || (!/[/.~]/.test(name) && (about !== undefined || /^[\w-]+$/.test(name)));
}

// `target: ## text`, else the comment directly above; `## target: text` is for that target.
function aboutOf(rest: string, comment: readonly string[], names: readonly string[]): string | undefined {
  const inline = /##\s*(.+)$/.exec(rest)?.[1];
  if (inline !== undefined && !inline.startsWith('@')) return inline;
  const lines = comment
    .filter((line) => !line.startsWith('##@'))
    .map((line) =>
      line
        .replace(/^#+\??\s?/, '')
        .replace(/\s*#+$/, '')
        .trim(),
    )
    .filter((line) => /[\p{L}\p{N}]/u.test(line));
  const said = lines
    .join(' ')
    .replace(/^[\w./-]+:\s+(?=\S)/, (label) =>
      lines.length === 1 || names.includes(label.replace(/:\s+$/, '')) ? '' : label,
    );
  return said === '' ? undefined : said;
}
