// Keywords for objects.

import { isRecord, type Json } from '../core/json.js';
import type { SchemaNode } from '../core/schema.js';
import { describeExpectation } from './expectation.js';
import { compilePattern, type Pattern } from './pattern.js';
import { type Compiler, type Evaluated, every, isValid, type Run, type Visit, visitChild } from './run.js';

type Properties = { readonly [name: string]: Json };
type ObjectVisit = (value: Properties, run: Run, evaluated: Evaluated | undefined) => boolean;

export function compileObject(node: SchemaNode, compiler: Compiler): Visit[] {
  const checks: ObjectVisit[] = [
    ...compileRequired(node),
    ...compileSizes(node, compiler),
    ...compileDependent(node, compiler),
    ...compileProperties(node, compiler),
  ];
  return checks as unknown as Visit[];
}

function compileRequired({ required }: SchemaNode): ObjectVisit[] {
  const names = toNames(required);
  return names.length === 0 ? [] : [(value, run) => hasAll(value, names, run)];
}

function toNames(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((name) => typeof name === 'string') : [];
}

function hasAll(value: Properties, names: readonly string[], run: Run): boolean {
  run.spend(names.length);
  return every(
    names,
    (name) => Object.hasOwn(value, name) || run.fail('missing', () => 'a value', undefined, name),
    run,
  );
}

function compileSizes(node: SchemaNode, { visit }: Compiler): ObjectVisit[] {
  const { minProperties, maxProperties, propertyNames } = node;
  const checks: ObjectVisit[] = [];
  const add = (keyword: string, accepts: (names: readonly string[], run: Run) => boolean): void => {
    checks.push((value, run) => {
      const names = Object.keys(value);
      run.spend(names.length);
      return accepts(names, run) || run.fail('value', () => describeExpectation(keyword, node[keyword]), value);
    });
  };
  if (typeof minProperties === 'number') add('minProperties', ({ length }) => length >= minProperties);
  if (typeof maxProperties === 'number') add('maxProperties', ({ length }) => length <= maxProperties);
  if (propertyNames !== undefined) {
    const inner = visit(propertyNames);
    add('propertyNames', (names, run) => names.every((name) => isValid(inner, name, run)));
  }
  return checks;
}

function compileDependent(node: SchemaNode, { visit, visits }: Compiler): ObjectVisit[] {
  const checks: ObjectVisit[] = [];
  const when = (name: string, check: ObjectVisit): void => {
    checks.push((value, run, evaluated) => !Object.hasOwn(value, name) || check(value, run, evaluated));
  };
  for (const keyword of ['dependentRequired', 'dependencies']) {
    for (const [name, list] of Object.entries(isRecord(node[keyword]) ? node[keyword] : {})) {
      const names = toNames(list);
      if (Array.isArray(list)) when(name, (value, run) => hasAll(value, names, run));
      else if (keyword === 'dependencies') when(name, visit(list) as ObjectVisit);
    }
  }
  for (const [name, inner] of visits(node.dependentSchemas)) when(name, inner as ObjectVisit);
  return checks;
}

function compileProperties(node: SchemaNode, compiler: Compiler): ObjectVisit[] {
  const checks: ObjectVisit[] = [];
  const declared = compiler.visits(node.properties);
  const properties = new Map(declared);
  const patterns = compiler
    .visits(node.patternProperties)
    .map(([source, inner]) => ({ matches: toMatches(source), inner }));
  if (declared.length > 0) {
    checks.push((value, run, evaluated) => {
      // Whichever are fewer.
      const entries =
        declared.length <= 64 ? declared : Object.keys(value).map((name) => [name, properties.get(name)] as const);
      run.spend(entries.length / 4);
      let valid = true;
      for (const [name, inner] of entries) {
        if (inner === undefined || !Object.hasOwn(value, name)) continue;
        evaluated?.add(name);
        if (visitChild(inner, value[name]!, name, run)) continue;
        valid = false;
        if (run.quiet > 0) break;
      }
      return valid;
    });
  }
  for (const { matches, inner } of patterns) {
    checks.push((value, run, evaluated) =>
      every(
        Object.keys(value),
        (name) => {
          if (!matches(name, run)) return true;
          evaluated?.add(name);
          return visitChild(inner, value[name]!, name, run);
        },
        run,
      ),
    );
  }
  const { additionalProperties: additional, unevaluatedProperties: unevaluated } = node;
  if (additional !== undefined) {
    const isDeclared = (name: string, run: Run): boolean =>
      properties.has(name) || patterns.some(({ matches }) => matches(name, run));
    checks.push(compileRest(compiler, additional, (name, run) => !isDeclared(name, run)));
  } else if (unevaluated !== undefined) {
    checks.push(compileRest(compiler, unevaluated, (name, _, evaluated) => !evaluated!.has(name)));
  }
  return checks;
}

// Compiled on first use, like a schema.
function toMatches(source: string): (name: string, run: Run) => boolean {
  let pattern: Pattern | undefined;
  return (name, run) => {
    if (pattern === undefined) {
      run.countCompiled();
      pattern = compilePattern(source);
    }
    run.spend(1);
    return pattern.matches(name, run);
  };
}

// Applies a schema to the properties that no other keyword covers.
function compileRest(
  { visit }: Compiler,
  schema: unknown,
  isRest: (name: string, run: Run, evaluated: Evaluated | undefined) => boolean,
): ObjectVisit {
  const inner = visit(schema);
  const allowed = schema !== false;
  return (value, run, evaluated) => {
    const all = Object.keys(value);
    run.spend(all.length / 4);
    const names = all.filter((name) => isRest(name, run, evaluated));
    for (const name of names) evaluated?.add(name);
    const check = (name: string): boolean => visitChild(inner, value[name]!, name, run) || run.failUndeclared(name);
    if (allowed && run.defer(names.length, (at) => check(names[at]!))) return true;
    return every(names, check, run);
  };
}
