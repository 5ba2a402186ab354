// Says whether the official SDK for TypeScript takes results of tool calls: each line of standard input
// is one, as JSON, and is answered with a line, a JSON string that says what is wrong, or is empty.

import { createInterface } from 'node:readline'
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js'

for await (const line of createInterface({ input: process.stdin })) {
  const read = CallToolResultSchema.safeParse(JSON.parse(line))
  process.stdout.write(`${JSON.stringify(read.success ? '' : read.error.message)}\n`)
}
