/** A short session to look at, for those who have none yet. */
export const SAMPLE_ID = "sample";

const DOT = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";

function call(id: string, name: string, input: Readonly<Record<string, string>>) {
  const calls = [{ id, type: "function", function: { name, arguments: JSON.stringify(input) } }];
  return { message: { role: "assistant", content: null, tool_calls: calls } };
}

export const SAMPLE_ENTRIES = [
  { message: { role: "user", content: "Why do the tests of the shop fail?" } },
  call("call_1", "run_tests", { path: "tests/" }),
  {
    toolResult: {
      toolName: "run_tests",
      toolCallId: "call_1",
      success: false,
      result: "collected 2 items\n\ntest_cart.py \u001b[32mPASSED\u001b[0m\ntest_order.py \u001b[31mFAILED\u001b[0m",
    },
  },
  call("call_2", "read_file", { path: "shop/order.py" }),
  {
    toolResult: {
      toolName: "read_file",
      toolCallId: "call_2",
      result: "def total(prices: list[int]) -> int:\n    return max(prices)\n",
    },
  },
  call("call_3", "screenshot", { url: "http://127.0.0.1/shop" }),
  {
    toolResult: {
      toolName: "screenshot",
      toolCallId: "call_3",
      result: { content: [{ type: "image", mimeType: "image/gif", data: DOT }] },
    },
  },
  { message: { role: "assistant", content: "`total` returns the **highest** price, not the sum." } },
];
