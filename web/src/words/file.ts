/** What the view of a file says that is read as a session. */

export const FILE = {
  title: "File",
  titleOf: (name: string) => `${name} · File`,
  drop: "Drop the file to read it as a session. Nothing is stored.",
  open: "Open a file",
  openLabel: "A file to read as a session: a transcript (.jsonl), a request (.json) or an exported session (.zip)",
  noneTitle: "No file is open",
  none: "Drop a .jsonl of Claude Code or Codex, the request body of a provider, or a bundle on the page. It is shown as a session, and nothing is stored.",
  refused: (name: string) => `${name} is not shown`,
  takes:
    "This page reads a .jsonl of Claude Code or Codex, the JSON of a request or a response of a provider, a list of messages (JSON, or one on each line), and a bundle (.zip) that was exported here. Choose such a file. If this is one, it is damaged or has messages of an unknown form.",
  taken:
    "There is a session of this name that has something else, and it was not changed. Store the file under another name; if it is a bundle, delete that session first.",
  storable:
    "The file cannot be stored as it is: some of its messages are incomplete or of an unknown form. The doctor finds out which; give it the file, and store the healed history.",
  notStored: "Not stored",
  about: "This file is only open in this tab. Store this session to see what a model gets.",
  bundleUnexamined: "Not examined: a bundle is when it is stored",
  tooLong: "Not examined: above 10,000 entries",
  storeAs: "Store as",
  idRule: "A letter or digit, then letters, digits, and . _ : -",
  store: "Store this session",
  storing: "Storing …",
};
