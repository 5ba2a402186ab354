/** What the view of uploads says. */
export const UPLOAD = {
  title: "Upload",
  clear: "Clear the list",
  files: "Files",
  drop: "Drop files here, or choose them:",
  note: "Each becomes a resource, kept once however often it comes. One is sent after the other.",
  cancel: "Cancel",
  again: "Send again",
  reference: "Reference of the resource",
  copy: "Copy",
  open: "Open",
};
