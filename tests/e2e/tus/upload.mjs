// Uploads a file that is nowhere whole, with tus-js-client, over connections that break.
//
// Usage: node upload.mjs '{"endpoint", "authorization", "size", "cuts": [bytes, …], "stop": bytes}'
//
// It writes a line of JSON for each thing that happens: {"cut"}, {"stopped"}, {"resumed"}, and at last
// {"resource", "peakBytes"}. At each of the cuts the request is broken off, in turn by the client's
// own `abort` and by destroying the connection under it. At the stop nothing more is sent until
// somebody ends the server.

import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { Upload } from 'tus-js-client'

const BLOCK_BYTES = 1024 * 1024
const RETRY_DELAYS = Array(240).fill(250)

const { endpoint, authorization, size, cuts, stop } = JSON.parse(process.argv[2])
const pattern = createHash('shake128', { outputLength: BLOCK_BYTES }).update('tus').digest()

let request = null
let resource = null
let hasStopped = false

const say = (event) => process.stdout.write(`${JSON.stringify(event)}\n`)

// Every block has its number in front, so that no two are alike.
function block(number) {
  const bytes = Buffer.from(pattern)
  bytes.writeBigUInt64BE(BigInt(number))
  return bytes
}

async function* bytesBetween(start, end) {
  while (start < end) {
    if (start >= stop && !hasStopped) {
      hasStopped = true
      say({ stopped: stop })
      await new Promise(() => {})
    }
    if (start >= cuts[0]) {
      setImmediate(cutOff, cuts.shift())
    }
    const first = start % BLOCK_BYTES
    const piece = block(Math.floor(start / BLOCK_BYTES)).subarray(first, first + end - start)
    yield piece
    start += piece.length
  }
}

async function cutOff(cut) {
  say({ cut })
  if (cuts.length % 2) {
    await upload.abort()
    // The client counts the error of a request it has aborted as one to retry, once it has started.
    setTimeout(() => upload.start(), 100)
  } else {
    request.getUnderlyingObject().destroy(new Error('cut off'))
  }
}

const file = {
  size,
  async slice(start, end) {
    const value = Readable.from(bytesBetween(start, Math.min(end, size)), { objectMode: false })
    value.size = Math.min(end, size) - start
    return { value, done: end >= size }
  },
  close() {},
}

const upload = new Upload(file, {
  endpoint,
  headers: { Authorization: authorization },
  metadata: { filename: 'gigabytes.bin', filetype: 'application/octet-stream' },
  retryDelays: RETRY_DELAYS,
  storeFingerprintForResuming: false,
  fileReader: { openFile: async () => file },
  onBeforeRequest(asked) {
    request = asked
  },
  onAfterResponse(asked, answer) {
    resource = answer.getHeader('Upload-Resource') ?? resource
    if (asked.getMethod() === 'HEAD') {
      say({ resumed: Number(answer.getHeader('Upload-Offset')) })
    }
  },
  onSuccess() {
    say({ resource, peakBytes: process.resourceUsage().maxRSS * 1024 })
  },
  onError(error) {
    throw error
  },
})
upload.start()
