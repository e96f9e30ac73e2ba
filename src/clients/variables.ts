// References of clients to variables, said as `${NAME}`; what names nothing that is known here stays and is found later.

/** `${env:NAME}` as well as `${NAME}`. */
export function dollarEnv(value: string): string {
  return value.replace(/\$\{env:([A-Za-z_]\w*)\}/g, (_, name: string) => `\${${name}}`);
}

/** `${NAME}` and `${NAME:-…}`: the same as here. */
export function dollarName(value: string): string {
  return value;
}

/** `$NAME` as well as `${NAME}`. */
export function bareDollar(value: string): string {
  return value.replace(/\$([A-Za-z_]\w*)/g, (_, name: string) => `\${${name}}`);
}

/** `{env:NAME}` and `{file:PATH}`. */
export function braced(value: string): string {
  return value
    .replace(/\{env:([A-Za-z_]\w*)\}/g, (_, name: string) => `\${${name}}`)
    .replace(/\{file:([^}]+)\}/g, (_, path: string) => `\${file:${path}}`);
}
