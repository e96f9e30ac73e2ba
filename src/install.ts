// Public entry `wield/install`: installs from sources in a program.

import { createInstallerFor, type Installer, type InstallerOptions } from './install/program.js';
import type { NodeToolbox } from './node.js';
import { readVersion } from './workspace/machine.js';

export type { ItemState } from './install/compare.js';
export type { Hook, InstallProgress } from './install/environment.js';
export type {
  AddOptions,
  AppliedChange,
  Installer,
  InstallerOptions,
  InstallOptions,
  ItemReport,
  OfferedItem,
  RemovedItem,
} from './install/program.js';

/** Creates an installer for a toolbox. Throws `denied` inside a tool call: only a person may install (A44). */
export function createInstaller(toolbox: NodeToolbox, options: InstallerOptions = {}): Installer {
  return createInstallerFor(toolbox, readVersion(), options);
}
