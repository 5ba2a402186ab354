// Says whether the AI SDK takes messages: each line of standard input is a list of them, as JSON, and is
// answered with a line, a JSON string that says what is wrong, or is empty.
//
// Each has to be a `ModelMessage` and nothing more, and all of them together have to become a prompt
// in which every file is still of its type. Nothing is sent. An argument names another package than `ai`,
// such as an older version under a name of its own.

import assert from 'node:assert'
import { createInterface } from 'node:readline'

const name = process.argv[2] ?? 'ai'
const { generateText, modelMessageSchema } = await import(name)
const { MockLanguageModelV3, MockLanguageModelV4 } = await import(`${name}/test`)
const Model = MockLanguageModelV4 ?? MockLanguageModelV3

const FILES = new Set(['file', 'image', 'file-url', 'file-data', 'image-data', 'image-url'])
const DONE = {
  content: [],
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: { inputTokens: {}, outputTokens: {} },
  warnings: [],
}

globalThis.AI_SDK_LOG_WARNINGS = false

for await (const line of createInterface({ input: process.stdin })) {
  const wrong = await check(line).then(() => '', String)
  process.stdout.write(`${JSON.stringify(wrong)}\n`)
}

async function check(json) {
  const messages = JSON.parse(json)
  for (const message of messages) {
    // What a schema does not know it leaves out.
    assert.deepStrictEqual(modelMessageSchema.parse(message), message)
  }
  if (!messages.length) return
  const model = new Model({ doGenerate: DONE })
  await generateText({
    model,
    messages: withoutReferences(json),
    maxRetries: 0,
    experimental_download: async (urls) => urls.map(() => null),
  })
  const [{ prompt }] = model.doGenerateCalls
  assert.deepStrictEqual(fileTypes(prompt), fileTypes(messages))
}

// References stand for base64 that is put there before anything is sent.
function withoutReferences(json) {
  const isReference = (key, value) => key === 'data' && /^@blob:[0-9a-f]{32}$/.test(value)
  return JSON.parse(json, (key, value) => (isReference(key, value) ? 'AAAA' : value))
}

function fileTypes(messages) {
  return messages
    .flatMap(({ content }) => (typeof content === 'string' ? [] : content))
    .flatMap((part) => (part.output?.type === 'content' ? part.output.value : [part]))
    .filter(({ type }) => FILES.has(type))
    .map(({ mediaType }) => mediaType)
}
