// Variables that a script needs: those it declares, and those that a failed one reads but did not get (SCR-28).

import { ToolError } from '../../core/error.js';
import type { ProcessPlan } from '../../core/plan.js';
import type { World } from '../../core/snapshot.js';
import type { ScriptAction, Tool } from '../../core/tool.js';
import { readHead } from '../../files/read.js';
import { isGranted } from '../../process/environment.js';

const MAX_BYTES = 256 * 1024;
const MAX_NAMES = 3;
// A word as in `$NAME`, `${NAME:-x}`, `environ["NAME"]`, `env.NAME`, `ENV['NAME']`, `getenv("NAME")`.
const READS = /(?:\$\{?|env(?:iron)?(?:\.get)?[.[(]\s*["']?|getenv\(\s*["'])([A-Za-z_][A-Za-z0-9_]*)/gi;
// Set by a shell itself.
const OF_SHELLS = /^(?:_|PWD|OLDPWD|SHLVL|PPID|UID|EUID|RANDOM|SECONDS|LINENO|HOSTNAME|OPTARG|OPTIND|IFS|BASH.*)$/;
const OF_WIELD = /^(?:WIELD|OCTOMIND)_/;

/** Returns the line of configuration that passes them on, or undefined if nothing is missing. */
export function suggestVariables(
  { file }: ScriptAction,
  { environment }: ProcessPlan,
  stderr: string,
  world: World,
): string | undefined {
  const reading = readHead(file, MAX_BYTES);
  if ('fault' in reading) return undefined;
  const text = reading.bytes.toString('utf8');
  // Either it could be passed on, or the script reports one that it does not set.
  const isMissed = (name: string): boolean =>
    world.env[name] !== undefined ||
    (/^[A-Z][A-Z0-9_]{2,}$/.test(name) && new RegExp(`\\b${name}\\b`).test(stderr) && !text.includes(`${name}=`));
  const names = new Set<string>();
  for (const [, name = ''] of text.matchAll(READS)) {
    if (OF_SHELLS.test(name) || OF_WIELD.test(name) || Object.hasOwn(environment, name)) continue;
    if (isMissed(name)) names.add(name);
  }
  const [first, ...others] = [...names].slice(0, MAX_NAMES);
  if (first === undefined) return undefined;
  const all = [first, ...others];
  const unset = all.filter((name) => world.env[name] === undefined);
  const pass = `pass = [${all.map((name) => `"${name}"`).join(', ')}]`;
  const reason = `it reads ${all.join(', ')}, which scripts do not get; add to ~/.wield/config.toml:  [env]  ${pass}`;
  return unset.length === 0 ? reason : `${reason}, and set ${unset.join(', ')}`;
}

/** Checks that the variables a script needs are passed on and set (SCR-24). Their values are never shown. */
export function assertGranted(tool: Tool, needs: readonly string[], pass: readonly string[], world: World): void {
  for (const name of needs) {
    if (!isGranted(name, pass)) {
      throw new ToolError(
        'unavailable',
        `${tool.name} needs the variable ${name}, which the configuration does not pass on`,
        {
          hint: `add it to ~/.wield/config.toml:  [env]  pass = ["${name}"]`,
          data: { variable: name },
        },
      );
    }
    if (world.env[name] === undefined) {
      throw new ToolError('unavailable', `${tool.name} needs the variable ${name}, which is not set`, {
        hint: `set it before starting wield:  export ${name}=…  (the configuration passes it on:  [env]  pass = ["${name}"])`,
        data: { variable: name },
      });
    }
  }
}
