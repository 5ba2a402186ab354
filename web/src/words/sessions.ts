/** What the list of sessions says, and what can be done with one. */
import { counted, numberText } from "@pagefault/react";

export const SESSIONS = {
  title: "Sessions",
  searchLabel: "Search by id, or by words, tools and titles",
  placeholder: "Id, title, tool or words",
  more: "More sessions",
  loading: "the sessions",
  noneTitle: "No session yet",
  example: (origin: string) => `curl ${origin}/api/tool-results -H 'content-type: application/json' \\
  -d '{"sessionId": "hello", "toolName": "clock", "toolCallId": "call_1", "result": "It is ten."}'`,
  noneFoundTitle: "No session found",
  noneFound: (q: string) => `No id, title, tool or entry of a session has “${q}”.`,
  found: "Sessions with these words",
  noneFits: "None of the sessions that are loaded fits.",
  filter: "Sessions with",
  sort: "Order",
  sorts: { time: "Newest", tokens: "Tokens", errors: "Errors", entries: "Entries", size: "Size of files" },
  chips: { failed: "Failed", live: "Live", images: "Images", pinned: "Pinned" },
  chipHints: { live: "Written to in the last 5 minutes" } as Readonly<Record<string, string>>,
  tool: "Sessions that called",
  anyTool: "Tool",
  calledIn: (tool: string, sessions: number) => `${tool} (${numberText(sessions)})`,
  pinned: "Pinned",
  notPinned: "Not pinned",
  pin: (name: string) => `Pin ${name}`,
  pinHint: "Pin: list it first",
  unpinHint: "Pinned; press to unpin",
  tokens: (count: string) => `≈ ${count} tokens of records`,
  tokensHint:
    "A quarter of the bytes of its records, with their JSON, and its images by their sizes. The session counts its texts without JSON.",
  tagged: (tag: string) => `Sessions tagged ${tag}`,
  clearTag: (tag: string) => `Tagged ${tag}: show others too`,
  noneFiltered: "No session is in all of these filters.",
  tick: (name: string) => `Compare ${name}`,
  tickHint: "Tick two sessions to compare them",
  compare: "Compare these two",
  choose: "Choose a session to read what was written to it.",
  entries: (count: number) => counted(count, "entry", "entries"),
  pages: (count: number) => counted(count, "page"),
  images: (count: number) => counted(count, "distinct image"),
  files: (count: number, size: string) => `${counted(count, "file")} (${size})`,
  failures: (count: number) => `${numberText(count)} failed`,
  lasted: (time: string) => `over ${time}`,
};

export const MARKS = {
  tags: "Tags",
  addTag: "Add a tag",
  newTag: "New tag",
  tagRule: "Up to 64 lower-case letters, digits and . _ : / -, the first a letter or a digit",
  add: "Add",
  removeTag: (tag: string) => `Remove the tag ${tag}`,
  note: "Note",
  addNote: "Add a note",
  editNote: "Change the note",
  save: "Save",
  cancel: "Cancel",
};

export const FIRST_RUN = {
  title: "Write a first session",
  about: "The first tool result, message or page that names a session makes it.",
  ways: "Ways to write to a session",
  names: { curl: "curl", python: "Python", mcp: "MCP proxy" },
  snippets: {
    curl: SESSIONS.example,
    python: (origin: string) => `from pagefault_client import Pagefault

with Pagefault("${origin}") as pagefault:
    session = pagefault.session("hello-python")
    session.append({"role": "user", "content": "What time is it?"})
    session.tool_result("clock", "call_1", "It is ten.")`,
    mcp: (origin: string) =>
      `pagefault proxy --session hello-mcp --url ${origin} -- npx -y @playwright/mcp`,
  },
  copy: "Copy",
  sample: "Load a sample session",
};

export const ACTIONS = {
  open: "Actions",
  compare: "Compare with another session",
  export: "Export as a bundle",
  exportDocument: (size: string | undefined, isTooLarge: boolean) => {
    const facts = [...(size === undefined ? [] : [`about ${size}`]), ...(isTooLarge ? ["too large"] : [])];
    return facts.length === 0 ? "Export as HTML" : `Export as HTML (${facts.join(", ")})`;
  },
  exportWithoutFiles: "Export as HTML without files",
  exporting: (size: string, whole: string | undefined) =>
    whole === undefined ? `Exporting, ${size} so far …` : `Exporting, ${size} of ${whole} …`,
  exported: (size: string) => `Exported, ${size}.`,
  delete: "Delete …",
  deleteThis: "Delete this session …",
  deleteTitle: (name: string) => `Delete ${name}?`,
  deleteWhat: (entries: string, pages: string) =>
    `Its history (${entries}) and its pages (${pages}) are deleted, and the files that nothing else uses. This cannot be undone.`,
  deleteNow: "Delete it now",
  cancel: "Cancel",
  deletedTitle: (name: string) => `${name} was deleted`,
  deletedWhat: (entries: string, pages: string) => `Deleted: ${entries}, ${pages}.`,
  filesGone: (count: number, size: string) =>
    `${counted(count, "file")} (${size}) went with it; the bytes go with the next sweep.`,
  filesKept: (count: number) => `${counted(count, "file")} stay, because something else uses them:`,
  usedBy: (kind: string, count: number, example: string) =>
    `${numberText(count)} × ${kind}, such as ${example}`,
  close: "Close",
  import: "Import a bundle",
  importLabel: "A bundle (.zip) that was exported from a session",
  importing: (size: string) => `Importing ${size} …`,
  dismiss: "Dismiss",
  notBundle:
    "This is no intact bundle. Import a .zip that “Export as a bundle” has saved; “Open a file” reads transcripts and requests.",
  conflict:
    "There is such a session already. Delete it first, or import the bundle into another project.",
};
