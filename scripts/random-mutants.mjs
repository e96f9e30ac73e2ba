// Draws random semantic mutations from the syntax trees of security-relevant code, and names the tests that could
// notice them. The same seed draws the same mutations from the same sources.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

// Folders that are mutated, with the tests of each area: folders in src, or prefixes of paths in test.
const FOLDERS = {
  'adapters/lowering/': 'src/adapters e2e/adapters e2e/mcp-server/listing',
  'audit/': 'attacks/audit attacks/keys attacks/state conformance/state e2e/audit faults/audit',
  'builtin/':
    'attacks/one-policy attacks/programs e2e/catalog/search e2e/catalog/visibility e2e/code e2e/context/handles e2e/context/tools e2e/formats/skill e2e/helpers e2e/mcp-server/search-mode e2e/runtime/background e2e/upstream/upstream-skills',
  'catalog/':
    'src/catalog attacks/files attacks/offers attacks/references attacks/variants e2e/catalog e2e/formats/script- e2e/formats/tools-json',
  'code/': 'attacks/programs attacks/suspended attacks/turns e2e/code faults/program',
  'config/':
    'src/config attacks/company attacks/hidden attacks/policy attacks/state e2e/config e2e/identity/approvers e2e/policy/p e2e/runtime/middleware-config',
  'core/':
    'src/core src/policy src/ui/form attacks/arg attacks/audit attacks/company attacks/flow attacks/hidden attacks/policy attacks/terminal e2e/flow e2e/policy/p e2e/runtime/call',
  'executors/':
    'attacks/arg attacks/command attacks/environment attacks/exchange attacks/module attacks/openapi attacks/skill-scripts conformance/executors e2e/formats/module e2e/formats/openapi e2e/formats/script-run e2e/formats/tool faults/spawn faults/tool-host',
  'files/':
    'attacks/approved attacks/files attacks/links attacks/lock attacks/paths attacks/state e2e/audit/audit e2e/policy/trust faults/state faults/store',
  'fleet/': 'attacks/fleet e2e/fleet faults/fleet',
  'formats/': 'attacks/hidden attacks/openapi attacks/paths attacks/policy attacks/variants conformance e2e/formats',
  'install/':
    'attacks/bundles attacks/git attacks/hidden attacks/install attacks/lock attacks/named attacks/plugins attacks/signe e2e/install faults/install',
  'mcp-server/':
    'src/mcp-server attacks/consent attacks/http attacks/input attacks/offers attacks/questions attacks/unfinished attacks/wrong e2e/fleet/sessions e2e/identity e2e/mcp-server e2e/telemetry e2e/upstream/upstream-offers e2e/upstream/upstream-subscriptions faults/streams',
  'net/':
    'attacks/egress attacks/http attacks/openapi attacks/page attacks/sandbox-network attacks/upstream e2e/formats/openapi.test e2e/mcp-server/http e2e/network e2e/upstream/oauth',
  'policy/':
    'attacks/approvals attacks/approved attacks/company attacks/flow attacks/policy attacks/trust e2e/flow e2e/mcp-server/approvals e2e/policy e2e/ui/approvals faults/approvals',
  'process/':
    'src/net attacks/approved attacks/argv attacks/consent attacks/environment attacks/exchange attacks/sandbox attacks/turns e2e/formats/script-run e2e/runtime e2e/upstream/package faults/ends faults/spawn',
  'runtime/':
    'attacks/approvals attacks/arg attacks/exchange attacks/flow conformance/doors e2e/audit e2e/fleet/state e2e/flow e2e/policy e2e/runtime',
  'schema/': 'src/core src/schema attacks/validation e2e/formats/script-types e2e/runtime/call e2e/runtime/schema',
  'state/': 'attacks/fleet attacks/state conformance/state conformance/stores e2e/fleet e2e/flow/sessions',
  'ui/server/': 'attacks/page e2e/ui/access e2e/ui/approvals e2e/ui/live e2e/ui/run e2e/ui/servers',
  'upstream/': 'attacks/hidden attacks/server-pins attacks/upstream e2e/identity e2e/upstream faults/upstream',
  'workspace/':
    'attacks/environment attacks/links attacks/paths attacks/state attacks/trust e2e/catalog/search-path e2e/cli/cli.test e2e/config e2e/policy/trust',
};

// Calls without which a value has its unsafe form.
const WRAPPER =
  /^(?:redact|mask|escape|encode|quote|spellOut|reveal|sanitize|normali[sz]e|canonical|strip|clean|deepFreeze|freeze|realPath|trim|toLowerCase)/;
// Calls that throw unless something is as it must be.
const CHECK = /^(?:assert|check|refuse|require|verify|validate)/;
const VERDICTS = ['allow', 'ask', 'deny'];
const BOUNDS = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };
const LIMIT = /^(?:MAX|MIN)_(?!.*_MS$)|_(?:BYTES|LIMIT|DEPTH|LENGTH)$/;

// For each kind of mutation a function that returns the replacement of a node; undefined if the kind does not apply.
const KINDS = {
  'drop a check': (node, { text }) => {
    if (node.type === 'IfStatement' && node.alternate === null && ends(node.consequent)) return '{}';
    if (node.type !== 'ExpressionStatement') return undefined;
    const call = node.expression.type === 'AwaitExpression' ? node.expression.argument : node.expression;
    return CHECK.test(calleeOf(call) ?? '') && !text(node).includes('=>') ? ';' : undefined;
  },
  'negate a condition': (node, { parent, text }) =>
    (parent?.type === 'IfStatement' || parent?.type === 'ConditionalExpression') && parent.test === node
      ? `!(${text(node)})`
      : undefined,
  'shift a bound': (node, { parent, text }) => {
    if (node.type === 'BinaryExpression' && node.operator in BOUNDS && parent?.type !== 'ForStatement')
      return `${text(node.left)} ${BOUNDS[node.operator]} ${text(node.right)}`;
    const isLimit = parent?.type === 'VariableDeclarator' && parent.init === node && LIMIT.test(parent.id.name);
    return isLimit && typeof node.value === 'number' ? `${text(node)} + 1` : undefined;
  },
  'swap an operand': (node, { text }) => {
    if (node.type !== 'LogicalExpression') return undefined;
    const [left, right] = [text(node.left), text(node.right)];
    if (node.operator === '??') return `(${right})`;
    return `((${left}) ${node.operator === '&&' ? '||' : '&&'} (${right}))`;
  },
  'drop an await': (node, { text }) => (node.type === 'AwaitExpression' ? `(${text(node.argument)})` : undefined),
  'drop a call': (node, { text }) => {
    if (!WRAPPER.test(calleeOf(node) ?? '')) return undefined;
    const [argument] = node.arguments;
    const isMethod = node.callee.type === 'MemberExpression' && /^(?:normalize|trim|toLowerCase)$/.test(calleeOf(node));
    if (isMethod) return text(node.callee.object);
    return argument === undefined || argument.type === 'SpreadElement' ? undefined : `(${text(argument)})`;
  },
  'flip a verdict': (node, { parent, draw }) => {
    if (node.type !== 'Literal') return undefined;
    if (VERDICTS.includes(node.value)) return `'${draw(VERDICTS.filter((verdict) => verdict !== node.value))}'`;
    const decides = [
      'ReturnStatement',
      'ArrowFunctionExpression',
      'Property',
      'LogicalExpression',
      'AssignmentExpression',
    ];
    return typeof node.value === 'boolean' && decides.includes(parent?.type) ? String(!node.value) : undefined;
  },
};

/** Returns `count` mutations of the sources below `root`, each with its stages of tests; `listed` are those of test/mutants. */
export function drawMutations(count, seed, root, listed) {
  const draw = createDraw(seed);
  const files = ['src', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => `${folder}/${name}`),
  );
  const tests = files.filter((file) => file.endsWith('.test.ts')).sort();
  const sources = files.filter((file) => file.endsWith('.ts') && folderOf(file) && !tests.includes(file)).sort();
  const sites = findSites(root, sources, draw);
  const chosen = [];
  while (chosen.length < count && sites.size > 0) {
    // The kind first: most sites are conditions.
    const kind = draw([...sites.keys()]);
    const own = sites.get(kind);
    const [site] = own.splice(own.indexOf(draw(own)), 1);
    if (own.length === 0) sites.delete(kind);
    chosen.push({ ...site, stages: stagesOf(site.file, tests, listed) });
  }
  return chosen;
}

function findSites(root, sources, draw) {
  const sites = new Map(Object.keys(KINDS).map((kind) => [kind, []]));
  for (const file of sources) {
    const source = readFileSync(join(root, file), 'utf8');
    const text = ({ start, end }) => source.slice(start, end);
    visit(parseAst(source, { lang: 'ts' }, file), undefined, (node, parent) => {
      for (const [kind, replace] of Object.entries(KINDS)) {
        const after = replace(node, { parent, text, draw });
        if (after === undefined) continue;
        const { start, end } = node;
        const line = source.slice(0, start).split('\n').length;
        sites
          .get(kind)
          .push({ area: kind, what: `${file}:${line}`, file, start, end, before: text(node), replace: after });
      }
    });
  }
  return sites;
}

// Types are left out: they have no effect.
function visit(node, parent, use) {
  const isType = node.type.startsWith('TS') && !/^TS(?:As|NonNull|Satisfies)Expression$/.test(node.type);
  if (isType || node.type === 'ImportDeclaration') return;
  use(node, parent);
  for (const [key, value] of Object.entries(node)) {
    if (/^type(?:Annotation|Parameters|Arguments)$/.test(key)) continue;
    for (const child of [value].flat()) if (typeof child?.type === 'string') visit(child, node, use);
  }
}

function ends(statement) {
  const last = statement.type === 'BlockStatement' ? statement.body.at(-1) : statement;
  return last?.type === 'ThrowStatement' || last?.type === 'ReturnStatement';
}

function calleeOf(node) {
  if (node.type !== 'CallExpression') return undefined;
  const { callee } = node;
  return callee.type === 'MemberExpression' ? callee.property.name : callee.name;
}

function folderOf(file) {
  return Object.keys(FOLDERS).find((folder) => file.startsWith(`src/${folder}`));
}

// From fast to slow: unit tests beside the file, then the tests listed for the file or its folder, then those of its area.
function stagesOf(file, tests, listed) {
  const beside = tests.filter((test) => dirname(test) === dirname(file));
  const named = listed.filter((other) => other.file === file);
  const close = named.length > 0 ? named : listed.filter((other) => dirname(other.file) === dirname(file));
  const wide = FOLDERS[folderOf(file)].split(' ').flatMap((prefix) => {
    const path = prefix.startsWith('src/') ? `${prefix}/` : `test/${prefix}`;
    const found = tests.filter((test) => test.startsWith(path));
    if (found.length === 0) throw new Error(`no test begins with ${path}`);
    return found;
  });
  const stages = [
    { tests: beside, build: false },
    { tests: close.flatMap((other) => other.tests), build: true },
    { tests: wide, build: true, isArea: true },
  ];
  const ran = new Set();
  return stages
    .map((stage) => ({ ...stage, tests: [...new Set(stage.tests)].filter((test) => !ran.has(test) && ran.add(test)) }))
    .filter((stage) => stage.tests.length > 0);
}

// Returns a function that draws an element of a list (mulberry32).
function createDraw(seed) {
  let state = seed >>> 0;
  return (list) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return list[((mixed ^ (mixed >>> 14)) >>> 0) % list.length];
  };
}
