// Packages that few commands need, loaded on first use.

function load(name: string): unknown {
  return process.getBuiltinModule('node:module').createRequire(import.meta.url)(name);
}

export const loadYaml = () => load('yaml') as typeof import('yaml');

export const loadJsonc = () => load('jsonc-parser') as typeof import('jsonc-parser');

export const loadToml = () => load('smol-toml') as typeof import('smol-toml');

/** For Node without a SQLite driver. Throws if the optional package is not installed. */
export const loadSqlite = () => load('libsql');
