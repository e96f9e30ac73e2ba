// Finds the variables of a Makefile that certainly are arguments only, so that their values cannot choose what runs (TSK-9).

import { words } from '../../core/text.js';
import { LOADERS } from '../../process/environment.js';
import { readsText } from '../shared/shell-text.js';

// Variables of make itself, of its implicit rules and of the machine.
const RESERVED = new Set(
  words(`
    CURDIR VPATH GPATH MFLAGS GNUMAKEFLAGS PATH HOME USER TMPDIR
    AR AS CPP FC M2C PC CO GET LEX YACC LINT LD MAKEINFO TEX TEXI2DVI WEAVE CWEAVE TANGLE CTANGLE RM
  `),
);
// The next word is a program, or an argument that chooses one.
const RUNNERS = new Set(
  words(`
    if then elif else while until do ! time env exec sudo doas nohup nice ionice setsid stdbuf timeout command builtin
    run x dlx tool npx bunx pnpx pipx uvx -exec -execdir -ok -- flock chroot strace with
    python python2 python3 node nodejs ruby perl php deno bun tsx ts-node lua java Rscript
  `),
);
// What these get decides what other commands do.
const DECISIVE = /(?:^|\s)(?:for|select|set|cd|pushd|g?make)(?=\s|$)/;

const EXPANSION = /\$\$|\$(?:\(([\w.-]+)(?::[^()$]*)?\)|\{([\w.-]+)(?::[^{}$]*)?\}|([A-Za-z_]))/g;
const ASSIGNMENT = /^(?:(?:export|override|private)\s+)*([A-Za-z_.][\w.-]*)\s*(\?|:{1,3}|\+|!)?=\s*(.*)$/;
const MARK = /\ue000([\w.-]+)\ue001/g;

/** Collects the variables of a Makefile and where they are used. */
export interface Variables {
  addRecipe(line: string): void;
  /** Adds a line that is not of a recipe. */
  addDeclaration(line: string): void;
  /** Adds a line that is not understood. */
  addOther(line: string): void;
  /** Returns the variables that get a value in the file, and are used as arguments and not otherwise. */
  findSettable(): ReadonlySet<string>;
  /** Replaces variables with the one value that they have in the file; others stay. */
  expand(text: string): string;
}

export function createVariables(): Variables {
  const values = new Map<string, string[]>();
  const defined = new Set<string>();
  const args = new Set<string>();
  const others = new Set<string>();
  const computed = new Set<string>();
  // `$(RUN_$(X))` may be each variable whose name begins so.
  const addComputed = (text: string): void => {
    for (const [, start = ''] of text.matchAll(/\$[({]([\w.-]*)\$(?!\$)/g)) computed.add(start);
  };
  const addAll = (names: Iterable<string>, to: Set<string>): void => {
    for (const name of names) to.add(name);
  };
  const addValue = (name: string, value: string): void => {
    values.set(name, [...(values.get(name) ?? []), value]);
    if (isReserved(name)) addAll(mentionsIn(value), others);
  };

  function addCommand(command: string): void {
    const names = marksIn(command);
    if (DECISIVE.test(command) || names.includes('MAKE')) {
      addAll(names, others);
      return;
    }
    let expectsProgram = true;
    let isValue = false;
    let ofEnvironment: string[] = [];
    for (const word of command.split(/\s+/).filter((one) => one !== '')) {
      const used = marksIn(word);
      const assigned = /^([A-Za-z_]\w*)=/.exec(word)?.[1];
      if (assigned !== undefined && isReserved(assigned)) addAll(used, others);
      else if (assigned !== undefined && expectsProgram) ofEnvironment.push(...used);
      else if (used.length > 0) {
        addAll(used, expectsProgram ? others : args);
        if (!isValue && word.replace(MARK, '') !== '') expectsProgram = false;
      } else if (RUNNERS.has(word.replace(/^.*\//, ''))) expectsProgram = true;
      else if (!isValue && /^[A-Za-z_./][\w./+-]*$/.test(word) && expectsProgram) {
        expectsProgram = false;
        addAll(ofEnvironment, args);
        ofEnvironment = [];
      }
      // The value of an option may be in the next word.
      isValue = word.startsWith('-') && word !== '-m';
    }
    // Variables of the shell, which it may run.
    addAll(ofEnvironment, others);
  }

  const expand = (text: string, depth = 0): string =>
    text.replace(EXPANSION, (whole, ...names) => {
      const name: string = names.slice(0, 3).find((one) => one !== undefined) ?? '';
      const [value, ...others] = name === 'MAKE' ? ['make'] : (values.get(name) ?? []);
      const isPlain = value !== undefined && others.length === 0 && depth < 10 && /^.[({]?[\w.-]+[)}]?$/.test(whole);
      return isPlain ? expand(value.replace(/\s+#.*$/, ''), depth + 1) : whole;
    });

  return {
    expand,
    addRecipe(line) {
      addComputed(line);
      // Before the first rule such a line may be an assignment.
      const [, name, , value = ''] = ASSIGNMENT.exec(line.trim()) ?? [];
      if (name !== undefined) addValue(name, value);
      addAll(
        [...line.matchAll(/\$\$[({]?(\w+)/g)].map(([, shown = '']) => shown),
        others,
      );
      const bare = mark(line)
        .replace(/["'\\]/g, '')
        .replace(/^[\s@+-]+/, '');
      if (isUnclear(line) || readsText(bare)) addAll(mentionsIn(line), others);
      else for (const command of bare.split(/[;&|(){}`]/)) addCommand(command);
    },
    addDeclaration(line) {
      addComputed(line);
      const [, name, operator, value = ''] = ASSIGNMENT.exec(line) ?? [];
      if (name !== undefined) {
        addValue(name, value);
        if (operator !== '+' && operator !== '!') defined.add(name);
        if (operator === '!' || isUnclear(value)) addAll(mentionsIn(value), others);
      } else if (isUnclear(line) || !/^(?:ifn?eq|ifn?def|else|endif)\b/.test(line)) addAll(mentionsIn(line), others);
    },
    addOther(line) {
      addComputed(line);
      addAll(wordsIn(line), others);
    },
    findSettable() {
      // Also names that are added on the way.
      for (const names of [args, others])
        for (const name of names) for (const value of values.get(name) ?? []) addAll(mentionsIn(value), names);
      const isOther = (name: string): boolean =>
        others.has(name) || isReserved(name) || [...computed].some((start) => name.startsWith(start));
      return new Set([...defined].filter((name) => args.has(name) && !isOther(name)));
    },
  };
}

function isReserved(name: string): boolean {
  return LOADERS.test(name) || RESERVED.has(name) || name.startsWith('.');
}

function mark(text: string): string {
  return text.replace(EXPANSION, (whole, ...names) =>
    whole === '$$' ? '%' : `\ue000${names.slice(0, 3).find((one) => one !== undefined)}\ue001`,
  );
}

function marksIn(marked: string): string[] {
  return [...marked.matchAll(MARK)].map(([, name = '']) => name);
}

// A function, a computed name, or something else than the value of a variable; `$@` and other automatic variables are understood.
function isUnclear(text: string): boolean {
  return /\$(?![@<^?*+|%]|[({][@<^?*+|%][DF]?[)}])/.test(mark(text));
}

function wordsIn(text: string): string[] {
  return text.match(/[A-Za-z_][\w.-]*/g) ?? [];
}

function mentionsIn(text: string): string[] {
  return isUnclear(text) ? wordsIn(text) : marksIn(mark(text));
}
