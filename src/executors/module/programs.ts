// Identifies the packages that a module imports; imported if a call needs approval.

import { delimiter } from 'node:path';
import type { ModulePlan } from '../../core/plan.js';
import { MAX_MODULE_BYTES } from '../../files/closure.js';
import { identifyPackages, type ModuleText } from '../../files/packages.js';
import { readHead } from '../../files/read.js';
import { identifyPrograms } from '../../process/programs.js';
import type { SandboxPlaces } from '../../process/sandbox/index.js';

/** Returns the lines of a plan (POL-25). */
export function identifyModule({ source, sandbox, environment }: ModulePlan, places: SandboxPlaces): string[] {
  const modules = source.files.flatMap(({ path }): ModuleText[] => {
    const reading = readHead(path, MAX_MODULE_BYTES);
    return 'fault' in reading ? [] : [{ file: path, text: reading.bytes.toString('utf8') }];
  });
  if ('inline' in source) modules.push({ file: source.file, text: source.inline });
  const [launcher] = sandbox?.launcher ?? [];
  const path = (environment.PATH ?? '').split(delimiter);
  return [
    ...identifyPrograms(launcher === undefined ? [] : [{ name: launcher, file: launcher }], { ...places, path }),
    ...identifyPackages(modules, places.world.now),
  ];
}
