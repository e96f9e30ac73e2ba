// Pins the public names of the package, and that the root entry stays light.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { built } from '../support/built.js';
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
    'createRootFormat',
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

const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  exports: Record<string, { default: string }>;
};
const KEYS = Object.keys(exports).filter((key) => !key.endsWith('.json'));

spec('SDK-8', 'every export key is pinned here', () => {
  expect(KEYS.map((key) => key.replace(/^\./, 'wield')).sort()).toEqual(Object.keys(PUBLIC).sort());
});

test.each(KEYS)('the entry %s exports these names only', async (key) => {
  const source = exports[key]!.default.replace('./dist/', './src/').replace(/\.js$/, '.ts');
  const names = Object.keys(await import(join(ROOT, source)));
  expect(names.sort()).toEqual(PUBLIC[key.replace(/^\./, 'wield')]);
});

spec('SDK-8', 'the root entry loads neither child_process nor a protocol', () => {
  const code = `await import(${JSON.stringify(built('index.js'))});
     const builtin = process.moduleLoadList.filter((name) => /child_process|NativeModule (http|net|tls)$/.test(name));
     console.log(JSON.stringify(builtin))`;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
  expect(JSON.parse(output)).toEqual([]);
});
