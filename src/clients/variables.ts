// Translates variable references of clients to `${NAME}`; unknown placeholders are left for later.

/** Translates `${env:NAME}`. */
export function dollarEnv(value: string): string {
  return value.replace(/\$\{env:([A-Za-z_]\w*)\}/g, (_, name: string) => `\${${name}}`);
}

/** `${NAME}` and `${NAME:-…}` need no translation. */
export function dollarName(value: string): string {
  return value;
}

/** Translates `$NAME`. */
export function bareDollar(value: string): string {
  return value.replace(/\$([A-Za-z_]\w*)/g, (_, name: string) => `\${${name}}`);
}

/** Translates `{env:NAME}` and `{file:PATH}`. */
export function braced(value: string): string {
  return value
    .replace(/\{env:([A-Za-z_]\w*)\}/g, (_, name: string) => `\${${name}}`)
    .replace(/\{file:([^}]+)\}/g, (_, path: string) => `\${file:${path}}`);
}
