// Pins the public names of the package, and that the root entry stays light.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../support/sources.js';
import { spec } from '../support/spec.js';

const PUBLIC: Readonly<Record<string, readonly string[]>> = {
  wield: [
    'LinePatchSchema',
    'ToolError',
    'applyLinePatches',
    'cache',
    'createToolbox',
    'decodeName',
    'definePrompt',
    'defineResource',
    'defineTool',
    'describePlan',
    'encodeName',
    'encodeNames',
    'isToolError',
    'rateLimit',
    'retry',
    'textOf',
  ],
  'wield/node': ['createNodeToolbox'],
  'wield/mcp-server': ['MCP_PATH', 'createMcpHttp', 'isLoopback', 'serveMcpStdio'],
  'wield/commands': [
    'OWN_FLAGS',
    'commandName',
    'exampleArguments',
    'formatToolHelp',
    'ownFlagValue',
    'parameterRows',
    'readCommandInput',
    'readOwnFlags',
    'registerToolsAsCLI',
    'splitArguments',
    'toCommandLine',
    'toParameters',
    'toPositionals',
  ],
  'wield/anthropic': ['runAnthropicCall', 'toAnthropicTools'],
  'wield/openai': ['runOpenAICall', 'toOpenAITools'],
  'wield/ollama': ['runOllamaCall', 'toOllamaTools'],
  'wield/ai-sdk': ['runAISDKCall', 'toAISDKTools'],
  'wield/agent-loop': ['runAgentLoop', 'runChatTurn'],
  'wield/formats': [
    'createModuleFormat',
    'createOpenApiFormat',
    'createScriptFormat',
    'createSkillFormat',
    'createToolsJsonFormat',
  ],
  'wield/helpers': [
    'clearAllCaches',
    'clearToolCache',
    'createCallbackRef',
    'ctxCwd',
    'ctxHookTarget',
    'ctxHookTrigger',
    'ctxPaths',
    'ctxTarget',
    'deserialize',
    'emptyGlobals',
    'extractIgnore',
    'filterPaths',
    'findAuthority',
    'findTool',
    'getToolsByGroup',
    'isMetaKey',
    'iterPaths',
    'listTools',
    'mapPaths',
    'matchPattern',
    'matchSelector',
    'parse',
    'parseSelectors',
    'pathEntryDir',
    'pathGet',
    'pathKeys',
    'pathQuery',
    'pathRemove',
    'pathSet',
    'registerTool',
    'resolveJsonSchema',
    'reviveFns',
    'safeClone',
    'safeSnapshot',
    'safeStringify',
    'serialize',
    'serializeContext',
    'stringify',
    'transferableSerializerSource',
    'unregisterTool',
  ],
  'wield/code': ['runCode'],
  'wield/install': ['createInstaller'],
  'wield/executors': [
    'createDelegateExecutor',
    'createFunctionExecutor',
    'createHttpExecutor',
    'createModuleExecutor',
    'createProcessExecutor',
    'createTextExecutor',
  ],
  'wield/testing': [
    'createFakeClock',
    'createFakeUpstreams',
    'createMemoryStore',
    'createTestContext',
    'createTestToolbox',
    'expectError',
    'expectOk',
  ],
};

/** Runs a line of ESM in a process of its own, in the package, so that its own name resolves. */
function evaluate(code: string): unknown {
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', code], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return JSON.parse(output);
}

test('every entry exports these names only', () => {
  const exported = evaluate(
    `const names = {};
     for (const entry of ${JSON.stringify(Object.keys(PUBLIC))})
       names[entry] = Object.keys(await import(entry)).sort();
     console.log(JSON.stringify(names))`,
  );
  expect(exported).toEqual(PUBLIC);
});

spec('SDK-8', 'every export key is pinned here', () => {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { exports: object };
  const keys = Object.keys(exports).filter((key) => key !== './package.json');
  expect(keys.map((key) => key.replace(/^\./, 'wield')).sort()).toEqual(Object.keys(PUBLIC).sort());
});

spec('SDK-8', 'the root entry loads neither child_process nor a protocol', () => {
  const loaded = evaluate(
    `await import('wield');
     const builtin = process.moduleLoadList.filter((name) => /child_process|NativeModule (http|net|tls)$/.test(name));
     console.log(JSON.stringify(builtin))`,
  );
  expect(loaded).toEqual([]);
});
