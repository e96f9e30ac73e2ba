// References that other programs resolve, and the command that reads them.

const COMMANDS: Readonly<Record<string, (text: string, path: string) => readonly string[]>> = {
  'op://': (text) => ['op', 'read', text],
  'pass:': (_text, path) => ['pass', 'show', path],
  'pass://': (_text, path) => ['pass', 'show', path],
  'gopass:': (_text, path) => ['gopass', 'show', '-o', path],
  'bw:': (_text, path) => ['bw', 'get', 'password', path],
  'bws:': (_text, path) => ['bws', 'secret', 'get', path],
  'vault:': (_text, path) => {
    const [place = '', field = 'value'] = path.split('#');
    return ['vault', 'kv', 'get', `-field=${field}`, place];
  },
  'doppler:': (_text, path) => ['doppler', 'secrets', 'get', '--plain', path],
  'infisical:': (_text, path) => ['infisical', 'secrets', 'get', '--plain', path],
  'awssm:': (_text, path) => toAws(path),
  'aws-sm:': (_text, path) => toAws(path),
  'gcpsm:': (_text, path) => ['gcloud', 'secrets', 'versions', 'access', 'latest', `--secret=${path}`],
};

function toAws(path: string): readonly string[] {
  const flags = ['--query', 'SecretString', '--output', 'text'];
  return ['aws', 'secretsmanager', 'get-secret-value', '--secret-id', path, ...flags];
}

/** Returns a hint with the command that reads a reference of another program, if the text is one. */
export function commandFor(text: string): string | undefined {
  const [, scheme, path] = /^([a-z][a-z-]*:(?:\/\/)?)([\w./@#: -]+)$/.exec(text) ?? [];
  if (scheme === undefined || path === undefined || !Object.hasOwn(COMMANDS, scheme)) return undefined;
  const argv = COMMANDS[scheme]!(text, path);
  const words = JSON.stringify(argv);
  return `write {"cmd": ${words}} in a file of your own, or as the value of a flag cmd:${words}`;
}
