// Packs the modules of a CommonJS bundle into few files, and evaluates each module when one of its exports is first used.
//
// A module becomes a function, and every use of an import becomes a call that evaluates it on demand. Which file a module
// is in only decides which bytes are read, never the order of evaluation, so files can be chosen by what commands use.
// That is safe because importing a module of src/ has no side effects, and modules do not import each other in a circle,
// which is checked here.

import { parseAst } from 'rolldown/parseAst';

const RELATIVE = './';
const REQUIRE = /\brequire\("(\.\/[^"]+)"\)/g;

/**
 * Turns the chunks of a bundle into functions. There is one chunk per module of src/; those for which `isLazy` is false,
 * of packages, keep their order of evaluation.
 */
export function toModules(chunks, isLazy) {
  checkCircles(new Map(chunks.map(({ fileName, imports }) => [fileName, imports])));
  const numbers = new Map(chunks.map(({ fileName }, number) => [fileName, number]));
  return chunks.map((chunk, number) => {
    const uses = new Set();
    // Returns the call that evaluates a chunk or built-in module.
    const use = (id) => {
      const target = id.startsWith(RELATIVE) ? numbers.get(id.slice(RELATIVE.length)) : id;
      if (target === undefined) throw new Error(`${chunk.fileName} imports ${id}, which is not in the bundle`);
      uses.add(target);
      return `${nameOf(target)}()`;
    };
    const code = isLazy(chunk) ? toLazy(chunk, use) : chunk.code.replace(REQUIRE, (_call, id) => use(id));
    return { chunk, number, code, uses };
  });
}

/**
 * Returns the text of each file. `fileOf` returns the name of the file of a chunk, without its extension; `entries` are
 * the chunks that also have a file of their own name; `onEvaluate` returns code that a module begins with.
 */
export function packModules(modules, { fileOf, entries, onEvaluate = () => '' }) {
  const homes = modules.map(({ chunk }) => fileOf(chunk));
  const files = new Map([...new Set(homes)].map((name) => [name, { parts: [], uses: new Set() }]));
  const exported = new Set();
  for (const { chunk, number, code, uses } of modules) {
    const file = files.get(homes[number]);
    file.parts.push(
      toAccessor(number, `f${number}({})`),
      `function f${number}(exports) {${onEvaluate(chunk)}${code}\nreturn exports;}`,
    );
    for (const target of uses) {
      if (homes[target] === homes[number]) continue;
      file.uses.add(target);
      exported.add(target);
    }
    if (entries.includes(chunk.fileName)) exported.add(number);
  }
  const texts = new Map();
  for (const [name, { parts, uses }] of files) {
    const others = [...uses].map((target) =>
      typeof target === 'string'
        ? toAccessor(target, `require("${target}")`)
        : toAccessor(target, `require("./${homes[target]}.cjs").${nameOf(target)}()`),
    );
    const exports = [...exported].filter((target) => homes[target] === name).map(nameOf);
    const exporting = exports.map((local) => `exports.${local} = ${local};`);
    texts.set(`${name}.cjs`, ['"use strict";', ...others, ...parts, ...exporting].join('\n'));
  }
  for (const { chunk, number } of modules)
    if (entries.includes(chunk.fileName))
      texts.set(chunk.fileName, `module.exports = require("./${homes[number]}.cjs").${nameOf(number)}();`);
  return texts;
}

// The function that returns the exports of a chunk or built-in module.
function nameOf(target) {
  return `$${String(target).replace(/\W/g, '_')}`;
}

function toAccessor(target, value) {
  const name = nameOf(target);
  return `let m${name};\nfunction ${name}() {return m${name} ??= ${value};}`;
}

function toLazy({ code, fileName }, use) {
  const { body } = parseAst(code);
  const assigned = new Set();
  walk(body, (node) => {
    if (node.type === 'AssignmentExpression' && node.left.type === 'Identifier') assigned.add(node.left.name);
    if (node.type === 'UpdateExpression' && node.argument.type === 'Identifier') assigned.add(node.argument.name);
  });
  const edits = [];
  const imports = new Map();
  for (const statement of body) {
    const imported = importOf(statement);
    if (imported !== undefined && !assigned.has(imported.name)) {
      edits.push([statement.start, statement.end, '']);
      if (imported.name !== undefined) imports.set(imported.name, use(imported.id));
    }
    const exported = exportOf(statement);
    // A function, class or constant is exported as a value, which takes less time to define and to read than a getter.
    if (exported !== undefined && !assigned.has(exported.local))
      edits.push([statement.start, statement.end, `exports.${exported.name} = ${exported.local};`]);
  }
  const removed = new Set(edits.map(([start]) => start));
  walk(
    body.filter(({ start }) => !removed.has(start)),
    (node, parent, key) => {
      if (isRequire(node)) {
        const [{ value }] = node.arguments;
        if (value.startsWith(RELATIVE)) edits.push([node.start, node.end, use(value)]);
      } else if (node.type === 'Identifier' && imports.has(node.name) && !isName(parent, key)) {
        if (parent.type === 'Property' && parent.shorthand) throw new Error(`${fileName}: { ${node.name} }`);
        // In parentheses for `new`.
        edits.push([node.start, node.end, `(${imports.get(node.name)})`]);
      }
    },
  );
  return edits
    .sort(([a], [b]) => b - a)
    .reduce((text, [start, end, replacement]) => text.slice(0, start) + replacement + text.slice(end), code);
}

// `const name = require("id");`, or `require("id");` of a module whose constants were inlined.
function importOf(statement) {
  if (statement.type === 'ExpressionStatement' && isRequire(statement.expression))
    return { id: statement.expression.arguments[0].value };
  if (statement.type !== 'VariableDeclaration' || statement.declarations.length !== 1) return undefined;
  const [{ id, init }] = statement.declarations;
  return id.type === 'Identifier' && isRequire(init) ? { name: id.name, id: init.arguments[0].value } : undefined;
}

// `Object.defineProperty(exports, "name", { enumerable: true, get: function() { return local; } });`
function exportOf({ type, expression }) {
  if (type !== 'ExpressionStatement' || expression.type !== 'CallExpression') return undefined;
  const [target, name, descriptor] = expression.arguments;
  if (target?.name !== 'exports' || name?.type !== 'Literal' || descriptor?.type !== 'ObjectExpression')
    return undefined;
  const get = descriptor.properties.find(({ key }) => key.name === 'get');
  const local = get?.value.body.body[0]?.argument;
  return local?.type === 'Identifier' ? { name: name.value, local: local.name } : undefined;
}

function isRequire(node) {
  return node?.type === 'CallExpression' && node.callee.name === 'require' && node.arguments[0]?.type === 'Literal';
}

// Whether an identifier is the name of a property, not a variable.
function isName(parent, key) {
  if (parent.type === 'MemberExpression') return key === 'property' && !parent.computed;
  return key === 'key' && !parent.computed && !parent.shorthand;
}

function walk(node, visit, parent = undefined, key = undefined) {
  if (Array.isArray(node)) for (const one of node) walk(one, visit, parent, key);
  else if (typeof node === 'object' && node !== null) {
    if (typeof node.type === 'string') visit(node, parent, key);
    for (const [name, value] of Object.entries(node))
      if (typeof value === 'object' && value !== null) walk(value, visit, node, name);
  }
}

// A module of a circle could be used before it is evaluated.
function checkCircles(imports) {
  const done = new Set();
  const check = (name, path) => {
    if (path.includes(name))
      throw new Error(`modules import each other: ${[...path.slice(path.indexOf(name)), name].join(' -> ')}`);
    if (done.has(name)) return;
    for (const imported of imports.get(name) ?? []) check(imported, [...path, name]);
    done.add(name);
  };
  for (const name of imports.keys()) check(name, []);
}
