// Preloaded into the binary: writes the list of its own files and of packages that it loaded to a file.

// Longer timers do not fire: what is loaded must not depend on the speed of the machine.
const { setTimeout } = globalThis;
globalThis.setTimeout = (callback, ms, ...args) => setTimeout(callback, ms < 100 ? ms : ms * 100, ...args);

const fs = require('node:fs');
const { basename, dirname } = require('node:path');

const own = dirname(process.argv[1]);
const names = new Set();
for (const name of ['readFileSync', 'openSync']) {
  const read = fs[name];
  fs[name] = (path, ...rest) => {
    if (typeof path === 'string' && dirname(path) === own) names.add(basename(path));
    const inPackage = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
    if (inPackage) names.add(inPackage[1]);
    return read(path, ...rest);
  };
}
process.once('exit', () => fs.writeFileSync(process.env.LOADED_CHUNKS, [...names].join('\n')));
