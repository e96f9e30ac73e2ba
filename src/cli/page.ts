// Starts the server of the page with what other commands know: doctor and tokens.

import type { NodeToolbox } from '../node.js';
import type { PageServer } from '../ui/server/index.js';
import { SENT } from './sent.js';
import type { VerbCall } from './verb.js';
import { runDoctor } from './verbs/doctor/run.js';

declare const WIELD_VERSION: string;

export async function openPage({ reserved }: VerbCall, toolbox: NodeToolbox, port: number): Promise<PageServer> {
  const { servePage } = await import('../ui/server/index.js');
  const doctor = async () => (await runDoctor(toolbox, reserved)).checks;
  return servePage({ toolbox, version: WIELD_VERSION, doctor, providers: SENT }, port);
}
