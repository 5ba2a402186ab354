/** What keys do, as the list of keys says it. */
export const KEYS = {
  title: "Keys",
  close: "Close",
  list: "This list",
  next: "Next entry",
  previous: "Previous entry",
  search: "Search",
  goTo: "Go to a number or a time",
  nextError: "Next error",
  previousError: "Previous error",
  nextImage: "Next image",
  previousImage: "Previous image",
  start: "Beginning",
  end: "End",
  leave: "Leave a field, close what is open",
  isOn: "Single letters are keys",
  open: "Keys",
};
