/** What the dialog for the key says. */
export const ACCESS = {
  title: "This service asks for a key",
  refused: "The service does not know that key, or it was revoked.",
  note: "Keys begin with pf_. It stays in this tab and is forgotten when you close it.",
  key: "Key",
  open: "Open",
};
