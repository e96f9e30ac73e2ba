// Validates values against JSON Schema 2020-12. A schema is compiled into functions, each keyword into one.

import { isRecord, type Json } from '../core/json.js';
import { type Check, hasSomeType, hasType, type JsonSchema, lookUp, type SchemaNode } from '../core/schema.js';
import { compileArray } from './arrays.js';
import { describeExpectation } from './expectation.js';
import { compileObject } from './objects.js';
import {
  CompiledEnough,
  type Compiler,
  countSteps,
  endTurn,
  every,
  isTurnOver,
  isValid,
  MAX_STEPS,
  MAX_STEPS_IN_ALL,
  OverBudget,
  overBudget,
  Run,
  type Visit,
  waitForTurn,
} from './run.js';
import { compileNumber, compileString, toMembership } from './scalars.js';
import { compileUnion } from './union.js';

/** Compiles a schema; `closed` rejects properties that the root does not declare. */
export function createCheck(json: JsonSchema, closed: boolean): (value: Json) => Promise<Check> {
  const root = closed ? closeRoot(json) : json;
  const visit = createCompiler(root).visit(root);
  return (value) => check(visit, value);
}

async function check(visit: Visit, value: Json): Promise<Check> {
  while (isTurnOver()) await waitForTurn();
  const run = new Run();
  try {
    let valid = counted(run, () => visit(value, run, undefined));
    if (run.deferred.length > 0) valid = await checkDeferred(valid, run);
    return toCheck(valid, value, run);
  } catch (error) {
    if (error instanceof OverBudget) return { ok: false, faults: [overBudget(value)] };
    if (!(error instanceof CompiledEnough)) throw error;
  }
  endTurn();
  return check(visit, value);
}

// Validates what was left for later, and waits for a turn of the event loop whenever that takes long.
async function checkDeferred(first: boolean, run: Run): Promise<boolean> {
  let valid = first;
  let steps = MAX_STEPS_IN_ALL;
  // Grows meanwhile, if entries have many entries.
  for (const { count, check, path } of run.deferred) {
    for (let entry = 0; entry < count; entry++) {
      if (run.isFull) return false;
      while (isTurnOver()) await waitForTurn();
      run.restart(path);
      if (!counted(run, () => check(entry))) valid = false;
      steps -= MAX_STEPS - run.left;
      if (steps < 0) throw new OverBudget();
    }
  }
  return valid;
}

function counted(run: Run, work: () => boolean): boolean {
  try {
    return work();
  } finally {
    countSteps(MAX_STEPS - run.left);
  }
}

function toCheck(valid: boolean, value: Json, run: Run): Check {
  return valid ? { ok: true, value } : { ok: false, faults: run.result(value) };
}

// Keywords whose subschemas apply to the same value and may declare properties.
const IN_PLACE = ['$ref', '$dynamicRef', '$recursiveRef', 'allOf', 'anyOf', 'oneOf', 'if', 'dependentSchemas'];

/** Rejects undeclared properties unless the root schema allows or restricts them itself (RUN-3). */
function closeRoot(json: JsonSchema): JsonSchema {
  const isExplicit = 'additionalProperties' in json || 'unevaluatedProperties' in json || !isRecord(json.properties);
  if (isExplicit) return json;
  // Means the same without such keywords.
  const keyword = IN_PLACE.some((key) => key in json) ? 'unevaluatedProperties' : 'additionalProperties';
  return { ...json, [keyword]: false };
}

function createCompiler(root: JsonSchema): Compiler {
  const compiled = new WeakMap<object, Visit>();
  const compiler: Compiler = {
    visit(schema) {
      if (schema === false) return () => false;
      if (!isRecord(schema)) return () => true;
      let known = compiled.get(schema);
      if (known === undefined) {
        // On first use, because schemas can contain themselves.
        let made: Visit | undefined;
        known = (value, run, evaluated) => {
          if (made === undefined) {
            run.countCompiled();
            made = compileNode(schema, root, compiler);
          }
          return made(value, run, evaluated);
        };
        compiled.set(schema, known);
      }
      return known;
    },
    visits: (schemas) =>
      isRecord(schemas) ? Object.entries(schemas).map(([name, schema]) => [name, compiler.visit(schema)]) : [],
  };
  return compiler;
}

function compileNode(node: SchemaNode, root: JsonSchema, compiler: Compiler): Visit {
  const any = compileInPlace(node, root, compiler);
  const checks = {
    object: [...any, ...compileObject(node, compiler)],
    array: [...any, ...compileArray(node, compiler)],
    number: [...any, ...compileNumber(node)],
    string: [...any, ...compileString(node)],
    other: any,
  };
  // Sees only what this schema covers, so it has a set of its own.
  const separate = 'unevaluatedProperties' in node || 'unevaluatedItems' in node;
  return (value, run, evaluated) => {
    const covered = separate ? new Set<string | number>() : evaluated;
    const typed = checks[typeOf(value)];
    run.enter(2 + typed.length / 2);
    const valid = every(typed, (visit) => visit(value, run, covered), run);
    run.leave();
    if (separate && valid && evaluated !== undefined) for (const name of covered!) evaluated.add(name);
    return valid;
  };
}

function typeOf(value: Json): 'object' | 'array' | 'number' | 'string' | 'other' {
  if (typeof value === 'string') return 'string';
  if (typeof value === 'number') return 'number';
  if (typeof value !== 'object' || value === null) return 'other';
  return Array.isArray(value) ? 'array' : 'object';
}

// Keywords for values of any type.
function compileInPlace(node: SchemaNode, root: JsonSchema, { visit }: Compiler): Visit[] {
  const checks: Visit[] = [];
  const add = (keyword: string, check: (limit: unknown) => Visit): void => {
    if (node[keyword] !== undefined) checks.push(check(node[keyword]));
  };
  const texts = new Map<string, string>();
  const expected = (keyword: string) => () => {
    const text = texts.get(keyword) ?? describeExpectation(keyword, node[keyword]);
    texts.set(keyword, text);
    return text;
  };
  for (const keyword of ['$ref', '$dynamicRef', '$recursiveRef'])
    add(keyword, (ref) => visit(typeof ref === 'string' ? lookUp(root, ref) : true));
  add('type', (type) => {
    if (!Array.isArray(type)) return (value, run) => hasType(value, type) || run.fail('type', expected('type'), value);
    return (value, run) => hasSomeType(value, type) || run.fail('type', expected('type'), value);
  });
  for (const keyword of ['const', 'enum']) {
    add(keyword, (limit) => {
      const includes = toMembership(keyword === 'const' ? [limit as Json] : limit);
      return (value, run) => includes(value, run) || run.fail('value', expected(keyword), value);
    });
  }
  add('not', (schema) => {
    const inner = visit(schema);
    return (value, run) => !isValid(inner, value, run) || run.fail('value', expected('not'), value);
  });
  for (const keyword of ['anyOf', 'oneOf'])
    add(keyword, (schemas) => compileUnion(keyword, schemas, { root, visit, expected: expected(keyword) }));
  add('allOf', (schemas) => {
    const branches = Array.isArray(schemas) ? schemas.map(visit) : [];
    return (value, run, evaluated) => every(branches, (branch) => branch(value, run, evaluated), run);
  });
  add('if', (schema) => {
    const [condition, then, otherwise] = [visit(schema), visit(node.then ?? true), visit(node.else ?? true)];
    return (value, run, evaluated) => {
      const covered = evaluated && new Set<string | number>();
      if (!isValid(condition, value, run, covered)) return otherwise(value, run, evaluated);
      for (const name of covered ?? []) evaluated!.add(name);
      return then(value, run, evaluated);
    };
  });
  return checks;
}
