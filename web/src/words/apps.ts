/** What the pages of MCP Apps are introduced with. */
export const APPS = {
  page: (name: string) => `App ${name}`,
  open: "Open the app",
  hosts: (hosts: string) => `It may load from, and send to: ${hosts}`,
  what: "the app",
  noHost:
    "Apps are shown from a host of their own: set PAGEFAULT_CONTENT_URL to a second name of the service.",
  refused: "A stored result is shown here: an app gets its input and its result, and can call nothing.",
};
