/** What the view says of the cost of a session. */
export const COST = {
  open: "Cost and prices …",
  title: "Cost of a session",
  what:
    "The cost is estimated from the tokens of the entries: the answers of a model as output, what came since its last answer as input, and everything before as read from the provider's cache. Prices stay on this device.",
  show: "Show the cost in the header",
  asOf: "Prices as of",
  modelOf: "Model of the messages of this session that name none",
  modelHint: "Choose or type one",
  prices: "US dollars for a million tokens",
  columns: { model: "Model starts with", input: "Input", cached: "Cached", output: "Output" },
  cell: (column: string, row: number) => `${column}, row ${row}`,
  add: "Add a model",
  remove: (model: string) => `Remove ${model === "" ? "this row" : model}`,
  published: (day: string) => `Take the published prices of ${day}`,
  save: "Save",
  cancel: "Cancel",
  about: (dollars: number) => (dollars < 0.01 && dollars > 0 ? "under $0.01" : `≈ $${dollars.toFixed(2)}`),
  estimated: (day: string) => `Estimated from tokens, with the prices of ${day}`,
  unknown: "cost unknown",
  unpriced: (models: readonly string[]) => `no price for ${models.join(", ")}`,
  unnamed: "messages that name no model",
};
