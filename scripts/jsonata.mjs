// A build plugin that patches JSONata: makes it synchronous, and replaces quadratic steps by linear ones.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const ASYNC = [
  [/\basync (?=function\b|\()/g, '', 46],
  [/\bawait /g, '', 105],
  // The array contains values, not promises.
  [/\bPromise\.all\(/g, 'Array.from(', 2],
];

// Each text must occur exactly once; otherwise the build fails, for example after an upgrade of JSONata.
const STEPS = [
  // Merges without copying the rest for each item; compares the same pairs in the same order.
  [
    `            var merge_iter = function (result, left, right) {
                if (left.length === 0) {
                    Array.prototype.push.apply(result, right);
                } else if (right.length === 0) {
                    Array.prototype.push.apply(result, left);
                } else if (comp(left[0], right[0])) { // invoke the comparator function
                    // if it returns true - swap left and right
                    result.push(right[0]);
                    merge_iter(result, left, right.slice(1));
                } else {
                    // otherwise keep the same order
                    result.push(left[0]);
                    merge_iter(result, left.slice(1), right);
                }
            };
            var merged = [];
            merge_iter(merged, l, r);
            return merged;`,
    `            var merged = [];
            var i = 0, j = 0;
            while (i < l.length && j < r.length) merged.push(comp(l[i], r[j]) ? r[j++] : l[i++]);
            while (i < l.length) merged.push(l[i++]);
            while (j < r.length) merged.push(r[j++]);
            return merged;`,
  ],
  // Evaluates a sort term once per item instead of once per comparison.
  [
    '        var comparator = function(a, b) { ',
    `        var known = expr.terms.map(() => new Map());
        var evaluateTerm = function(index, item, context, env) {
            var values = known[index];
            var value = values.get(item);
            if (value === undefined && !values.has(item)) {
                value = evaluate(expr.terms[index].expression, context, env);
                values.set(item, value);
            }
            return value;
        };
        var comparator = function(a, b) {`,
  ],
  ['var aa = evaluate(term.expression, context, env);', 'var aa = evaluateTerm(index, a, context, env);'],
  ['var bb = evaluate(term.expression, context, env);', 'var bb = evaluateTerm(index, b, context, env);'],
  // Appends to a group instead of copying it for each item.
  [
    'groups[key].data = fn.append.call(focus, groups[key].data, item);',
    `const group = groups[key];
                        if (group.own && item !== undefined) {
                            if (Array.isArray(item)) for (const one of item) group.data.push(one);
                            else group.data.push(item);
                        } else {
                            const before = group.data;
                            group.data = fn.append.call(focus, before, item);
                            group.own = before !== undefined && item !== undefined;
                        }`,
  ],
  // An object built from one item needs no groups.
  [
    `        // group the input sequence by 'key' expression
        if (!Array.isArray(input)) {`,
    `        if (!reduce && !Array.isArray(input)) return construct(expr, input, environment, result);
        // group the input sequence by 'key' expression
        if (!Array.isArray(input)) {`,
  ],
  [
    '    function reduceTupleStream(tupleStream, environment) {',
    `    function construct(expr, item, environment, result) {
        const values = Object.create(null);
        for (const pair of expr.lhs) {
            const key = evaluate(pair[0], item, environment);
            if (key === undefined) continue;
            if (typeof key !== 'string') {
                throw { code: "T1003", stack: (new Error()).stack, position: expr.position, value: key };
            }
            if (key === '_jsonata_lambda' || key === '_jsonata_function') {
                throw { code: "D1013", stack: (new Error()).stack, position: expr.position, value: key };
            }
            if (values[key] !== undefined) {
                throw { code: "D1009", stack: (new Error()).stack, position: expr.position, value: key };
            }
            values[key] = pair[1];
        }
        let index = 0;
        for (const key in values) {
            environment.isParallelCall = index++ > 0;
            const value = evaluate(values[key], item, environment);
            if (value !== undefined) result[key] = value;
        }
        return result;
    }

    function reduceTupleStream(tupleStream, environment) {`,
  ],
  // Finds duplicate primitive values with a Set.
  [
    '        for(var ii = 0; ii < arr.length; ii++) {\n            var value = arr[ii];\n            // is this value already in the result sequence?\n            var includes = false;\n            for(var jj = 0; jj < results.length; jj++) {\n                if (deepEquals(value, results[jj])) {',
    `        const plain = new Set();
        const others = [];
        for(var ii = 0; ii < arr.length; ii++) {
            var value = arr[ii];
            if (value === null || (typeof value !== 'object' && value === value)) {
                if (!plain.has(value)) results.push(value);
                plain.add(value);
                continue;
            }
            var includes = false;
            for(var jj = 0; jj < others.length; jj++) {
                if (deepEquals(value, others[jj])) {`,
  ],
  [
    '            if(!includes) {\n                results.push(value);\n            }\n        }\n        return results;\n    }\n\n    /**\n     * Applies a predicate',
    '            if(!includes) {\n                others.push(value);\n                results.push(value);\n            }\n        }\n        return results;\n    }\n\n    /**\n     * Applies a predicate',
  ],
  // Tracing hooks are not used.
  ["environment.lookup(Symbol.for('jsonata.__evaluate_entry'))", 'undefined'],
  ["environment.lookup(Symbol.for('jsonata.__evaluate_exit'))", 'undefined'],
  ["enclosingEnvironment.lookup(Symbol.for('jsonata.__createFrame_push'))", 'undefined'],
  // Fast path for literals and for paths through objects.
  [
    '    function evaluate(expr, input, environment) {\n        var result;\n',
    `    function isBare(expr) {
        return !expr.predicate && !expr.group && !expr.stages && !expr.keepArray && !expr.tuple && !expr.focus &&
            !expr.index && !expr.ancestor && !expr.consarray && !expr.seekingParent;
    }

    // The names of a path that consists of nothing else; null for any other expression.
    function namesOf(expr) {
        if (!isBare(expr)) return null;
        if (expr.type === 'name') return [expr.value];
        if (expr.type !== 'path' || expr.keepSingletonArray) return null;
        return expr.steps.every((step) => step.type === 'name' && isBare(step)) ? expr.steps.map((step) => step.value) : null;
    }

    const UNKNOWN = {};

    function walk(names, input) {
        let value = input;
        for (let at = 0; at < names.length; at++) {
            if (typeof value !== 'object' || value === null) return undefined;
            if (Array.isArray(value) || value._jsonata_function === true || value._jsonata_lambda === true) return UNKNOWN;
            if (!Object.prototype.hasOwnProperty.call(value, names[at])) return undefined;
            value = value[names[at]];
        }
        return Array.isArray(value) && (value.sequence === true || names.length > 1) ? UNKNOWN : value;
    }

    function evaluate(expr, input, environment) {
        var result;

        if (expr.names === undefined) {
            expr.names = namesOf(expr);
            const { type } = expr;
            expr.literal = (type === 'string' || type === 'number' || type === 'value') && isBare(expr);
        }
        if (expr.literal) return expr.value;
        if (expr.names !== null) {
            const value = walk(expr.names, input);
            if (value !== UNKNOWN) return value;
        }
`,
  ],
  // Arguments of primitive types pass unchanged; computed once per signature.
  [
    `            validate: function (args, context) {
                var suppliedSig = '';
                args.forEach(function (arg) {
                    suppliedSig += getSymbol(arg);
                });
                var isValid = regex.exec(suppliedSig);`,
    `            validate: function (args, context) {
                var suppliedSig = '';
                for (let at = 0; at < args.length; at++) suppliedSig += getSymbol(args[at]);
                if (passing.has(suppliedSig)) return args;
                var isValid = regex.exec(suppliedSig);
                if (isValid && params.every((param, index) => param.type !== 'a' && isValid[index + 1].length === 1) &&
                    params.length === args.length) passing.add(suppliedSig);`,
  ],
  [
    '        return {\n            definition: signature,',
    '        const passing = new Set();\n        return {\n            definition: signature,',
  ],
];

/** The source of JSONata with those changes. Throws where a text that is changed is not there. */
export function toSynchronous(source) {
  let text = source;
  for (const [pattern, replacement, times] of ASYNC) {
    const found = text.match(pattern)?.length ?? 0;
    if (found !== times) throw new Error(`JSONata has ${found} of ${pattern}, not ${times}`);
    text = text.replace(pattern, replacement);
  }
  for (const [from, to] of STEPS) {
    if (text.split(from).length !== 2) throw new Error(`JSONata has not one of: ${from.slice(0, 80)}`);
    text = text.replace(from, () => to);
  }
  return text;
}

/** For rolldown: JSONata as `toSynchronous` makes it. */
export const synchronousJsonata = {
  name: 'synchronous-jsonata',
  transform: {
    filter: { id: /node_modules\/jsonata\/jsonata\.js$/ },
    handler: (code) => toSynchronous(code),
  },
};

/** The file that is changed. */
export function readJsonata() {
  return readFileSync(createRequire(import.meta.url).resolve('jsonata'), 'utf8');
}
