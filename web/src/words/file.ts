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
  notStored: "Not stored",
  about: "This file is only open in this tab.",
  storeAs: "Store as",
  idRule: "A letter or digit, then letters, digits, and . _ : -",
  store: "Store this session",
  storing: "Storing …",
};
