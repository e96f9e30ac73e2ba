// `wield check`: lints skills, workspaces and sources; also as SARIF 2.1.0, for services that show findings beside the code.

import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CALLERS } from '../../core/caller.js';
import { describeUnmarked, findUnmarkedWord } from '../../core/destructive-words.js';
import { isToolError } from '../../core/error.js';
import { type Problem, toProblem } from '../../core/problem.js';
import { count, sanitize } from '../../core/text.js';
import { statOrNothing } from '../../files/read.js';
import { fromFileUri, isWithin, realPath } from '../../files/within.js';
import { type CheckFinding, checkDirectory } from '../../formats/check.js';
import { isDocument } from '../../formats/openapi/index.js';
import type { SourceReport } from '../../install/sources/check.js';
import type { NodeToolbox } from '../../node.js';
import { readVersion } from '../../workspace/machine.js';
import { printDocument, printJson } from '../print.js';
import { hang } from '../table.js';
import type { Terminal } from '../terminal.js';
import { toggle, usageError, type Verb } from '../verb.js';

export const check: Verb = {
  usage: 'check [DIR] [--fix] [--json | --sarif]\n  wield check --installed',
  summary: 'Lint a skill, a workspace or a source. Exits with 1 if there is an error.',
  examples: ['wield check .agents/skills/notes', 'wield check', 'wield check ./my-source --fix'],
  flags: {
    fix: toggle('Fix what can be fixed automatically'),
    sarif: toggle('Print the findings as SARIF 2.1.0, for code scanning'),
    installed: toggle('Check installed files against their recorded hashes'),
  },
  positionals: 1,
  completes: 'files',
  async run({ terminal, flags, positionals, json, cwd, toolbox: open }) {
    const sarif = flags.has('sarif');
    if (json && sarif) throw usageError('--json and --sarif exclude each other', 'leave one out');
    const given = resolve(cwd, positionals[0] ?? '.');
    const named = realPath(given) ?? given;
    const isOther = positionals.length > 0 && WORKSPACE_FILES.some((name) => existsSync(join(named, name)));
    const toolbox = open(isOther ? { workdir: named } : {});
    const { machine, workspace, state, find, catalog } = toolbox;
    const { workdir } = workspace;
    const isWorkspace = positionals.length === 0 && !ITEM_FILES.some((name) => existsSync(join(cwd, name)));
    const directory = isWorkspace ? workdir : named;
    const isThere = async (ref: string): Promise<boolean> =>
      (await catalog.survey()).skills.some(({ name }) => name === ref) ||
      (await find(ref).catch(() => undefined)) !== undefined;
    const fix = flags.has('fix');
    const source = looksLikeSource(directory)
      ? await checkAsSource(directory, fix)
      : { items: 0, findings: [], skipped: [] };
    // After fixing, so that fixed problems are not reported again.
    const own = await checkDirectory(directory, {
      world: machine.world,
      isThere,
      problemsOf: (file) => findProblems(toolbox, file),
      boundary: state.snapshot().boundaryOf({ directory, owner: 'workspace' }),
    });
    const listed = directory === workdir ? toListed(await catalog.problems(), own.findings, directory) : [];
    const unmarked = directory === workdir ? await findUnmarked(toolbox, directory) : [];
    const checked = Math.max(own.checked, source.items);
    const { tests, policy, problems: ofFiles } = state.configuration();
    // A file that denies every call may have tests that cannot be read.
    const denying = policy.fault === undefined ? [] : ofFiles.filter(({ path }) => !isWithin(directory, path));
    // POL-43: tests of rules, and files that deny every call, concern every workspace, wherever they are.
    const ofRules = (tests.problems.length > 0 ? tests.problems : denying)
      .filter(({ message }) => !listed.some((one) => one.message === message))
      .map(({ path, line, message, hint }): Shown => {
        const shown = isWithin(directory, path) ? relative(directory, path) : path;
        return { level: 'error', path: shown, pointer: '', line, message, hint };
      });
    const findings: Shown[] = [
      ...ofRules,
      ...own.findings.map((finding) => (source.items > 0 ? toSourceFinding(finding, directory) : finding)),
      ...listed,
      ...unmarked,
      ...source.findings.map(({ severity: level, ...finding }) => ({ level, pointer: '', ...finding })),
    ];
    const left = findings.filter(({ fixed }) => fixed !== true);
    const errors = left.filter((finding) => finding.level === 'error').length;
    const warnings = left.length - errors;
    if (sarif) printDocument(terminal, toSarif(left, directory, cwd));
    else if (json) {
      const { passed, problems: failed } = tests;
      const sums = { checked, errors, warnings, findings, skipped: source.skipped };
      printJson(terminal, { ok: true, ...sums, tests: { passed, failed: failed.length } });
    } else {
      printFindings(terminal, findings);
      if (tests.passed > 0) terminal.out(`  ${count(tests.passed, 'test')} of rules passed\n`);
      for (const { what, reason, paths } of source.skipped)
        terminal.out(`  ${count(paths.length, what)} not offered: ${sanitize(reason)}\n`);
      const sum = `${count(errors, 'error')}, ${count(warnings, 'warning')}`;
      terminal.out(`  ${findings.length === 0 ? `${count(checked, 'file')} checked, no problems` : sum}\n`);
    }
    return errors > 0 ? 1 : 0;
  },
};

type Shown = CheckFinding & { readonly fixed?: boolean };

const WORKSPACE_FILES = ['.agents', '.mcp.json'];
// A skill or source inside a workspace is checked by itself.
const ITEM_FILES = ['SKILL.md', 'wield.toml', 'mind.toml', '.claude-plugin', '.codex-plugin', 'plugin.json'];
const SOURCE_FILES = [...ITEM_FILES, 'skills', 'tools', 'agents', 'rules'];

// POL-38: tools of the workspace that models call without asking although their words say that they destroy something.
async function findUnmarked(toolbox: NodeToolbox, directory: string): Promise<CheckFinding[]> {
  const findings: CheckFinding[] = [];
  // Without trust all calls of models are denied, whatever rules say.
  const caller = CALLERS[toolbox.workspace.trusted ? 'mcp' : 'code'];
  for (const tool of (await toolbox.catalog.survey()).tools) {
    const file = fromFileUri(tool.origin.uri);
    const word = findUnmarkedWord(tool);
    if (word === undefined || file === undefined || !isWithin(directory, file)) continue;
    const { verdict } = await toolbox.explain(tool.name, undefined, { caller });
    if (verdict.rule !== null || verdict.verdict === 'ask') continue;
    const { message, hint } = describeUnmarked(tool, word);
    findings.push({ level: 'warning', path: relative(directory, file), pointer: '', message, hint });
  }
  return findings;
}

// Returns what a listing of the workspace reports about other files: documents, flat skills, servers, the configuration.
function toListed(problems: readonly Problem[], found: readonly CheckFinding[], directory: string): CheckFinding[] {
  const known = new Set(found.flatMap(({ path, message }) => [path, message]));
  return problems
    .filter(
      ({ path, message }) => isWithin(directory, path) && !known.has(relative(directory, path)) && !known.has(message),
    )
    .map(({ severity, path, pointer = '', line, column, message, hint }) => {
      return { level: severity, path: relative(directory, path), pointer, line, column, message, hint };
    });
}

// Checked here, so that linting a workspace does not load the install code.
function looksLikeSource(directory: string): boolean {
  if (SOURCE_FILES.some((name) => existsSync(join(directory, name)))) return true;
  const entries = statOrNothing(directory)?.isDirectory() ? readdirSync(directory) : [];
  return entries.some((name) => existsSync(join(directory, name, 'SKILL.md')));
}

// A single skill is checked like any item, but not for what only matters in a source.
async function checkAsSource(directory: string, fix: boolean): Promise<SourceReport> {
  const report = (await import('../../install/sources/check.js')).checkSource(directory, fix);
  // What is in .agents is checked as part of the workspace.
  const isOwn = ({ severity, path }: SourceReport['findings'][number]): boolean =>
    severity === 'error' || !path.startsWith('.agents/');
  if (!existsSync(join(directory, 'SKILL.md'))) return { ...report, findings: report.findings.filter(isOwn) };
  const findings = report.findings
    .filter(({ severity }) => severity === 'error')
    .map((finding) => ({ ...finding, path: join(basename(directory), finding.path) }));
  return { ...report, findings };
}

// A source can offer a skill that wield itself cannot list, so that is not an error there (INS-33).
function toSourceFinding(finding: CheckFinding, directory: string): CheckFinding {
  const isWorkspace =
    directory.split(sep).includes('.agents') ||
    ['.agents', 'SKILL.md'].some((name) => existsSync(join(directory, name)));
  return isWorkspace || !/(?:^|\/)SKILL\.md$/.test(finding.path) ? finding : { ...finding, level: 'warning' };
}

// Loads a module only if its workspace is trusted, as for a listing.
async function findProblems(toolbox: NodeToolbox, file: string): Promise<readonly Problem[]> {
  const { problems, tools } = await toolbox.catalog.survey();
  const known = problems.filter(({ path }) => path === file);
  if (known.length > 0) return known;
  if (isDocument(basename(file))) {
    const isListed = tools.some(({ action }) => action.kind === 'http' && action.file === realPath(file));
    return isListed ? [] : findDocumentProblems(file);
  }
  try {
    const { action } = await toolbox.find(file);
    if (action.kind !== 'module' || action.export !== null) return [];
    const message = 'was not loaded because this workspace is not trusted; only its name was checked';
    return [{ severity: 'warning', path: file, message, hint: 'review it, then run: wield trust' }];
  } catch (error) {
    // A file may define several tools.
    if (!isToolError(error) || error.code === 'ambiguous') return [];
    const { message, hint = 'fix the file' } = error;
    return [{ severity: 'error', path: file, message, hint }];
  }
}

// Of another workspace.
async function findDocumentProblems(file: string): Promise<readonly Problem[]> {
  const { prepareDocument } = await import('../../formats/openapi/documents.js');
  const { findings } = await prepareDocument(file, { name: basename(file).split('.')[0]!, settings: {} });
  return findings.map((finding) => toProblem(file, finding.severity ?? 'error', finding));
}

function printFindings(terminal: Terminal, findings: readonly Shown[]): void {
  const placeIn = ({ pointer, line, column = 1 }: Shown): string =>
    pointer === '' && line !== undefined ? `${line}:${column}` : sanitize(pointer);
  const width = Math.max(0, ...findings.map((finding) => placeIn(finding).length));
  let file: string | undefined;
  for (const finding of findings) {
    const { path, level, message, hint, fixed } = finding;
    if (path !== file) terminal.out(`  ${terminal.paint('bold', sanitize(path))}\n`);
    file = path;
    const place = width === 0 ? '' : `${placeIn(finding).padEnd(width)}  `;
    const label = terminal.paint(level === 'error' ? 'red' : 'yellow', level.padEnd(7));
    terminal.out(`    ${label}  ${place}${hang(terminal, sanitize(message), 13 + place.length)}\n`);
    const advice = `${terminal.paint('cyan', 'hint')}  ${hang(terminal, sanitize(hint), 19)}`;
    terminal.out(`             ${fixed ? terminal.paint('green', 'fixed') : advice}\n`);
  }
}

const RULES = [
  { id: 'error', shortDescription: { text: 'Prevents something from being used' } },
  { id: 'warning', shortDescription: { text: 'Advice' } },
] as const;

/** Returns a log with paths relative to `base`: a service takes them as paths in the repository (PKG-9). */
function toSarif(findings: readonly CheckFinding[], directory: string, base: string) {
  const results = findings.map(({ level, path, pointer, line, column, message, hint }) => {
    const region = { startLine: line ?? 1, ...(column === undefined ? {} : { startColumn: column }) };
    // A file of the machine is not in the repository.
    const uri = isAbsolute(path) ? pathToFileURL(path).href : toUri(relative(base, locate(directory, path)));
    const physicalLocation = { artifactLocation: { uri }, region };
    const logicalLocations = pointer === '' ? {} : { logicalLocations: [{ fullyQualifiedName: pointer }] };
    return {
      ruleId: level,
      ruleIndex: RULES.findIndex(({ id }) => id === level),
      level,
      message: { text: `${message}\n${hint}` },
      locations: [{ physicalLocation, ...logicalLocations }],
    };
  });
  const driver = { name: 'wield', version: readVersion(), rules: RULES };
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [{ tool: { driver }, columnKind: 'utf16CodeUnits', results }],
  };
}

// Paths of a single skill begin with its name.
function locate(directory: string, path: string): string {
  const inside = join(directory, path);
  const beside = join(dirname(directory), path);
  return !existsSync(inside) && existsSync(beside) ? beside : inside;
}

function toUri(path: string): string {
  return path.split(sep).map(encodeURIComponent).join('/') || '.';
}
