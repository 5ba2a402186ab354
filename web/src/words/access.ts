/** What the dialog for the key says. */
export const ACCESS = {
  title: "This service asks for a key",
  refused: "The service does not know that key, or it was revoked.",
  note: "Keys begin with pf_. The key stays in this tab, and is forgotten when you close it.",
  wayToOne: "On the machine of the service, this prints a new one:",
  command: "pagefault keys create --project NAME",
  remember: "Remember it on this device",
  key: "Key",
  open: "Open",
};
