/** Whether a card is folded, kept as long as the tab. */
import { useState } from "react";

export function useFolded(name: string): readonly [boolean, (isFolded: boolean) => void] {
  const key = `folded ${name}`;
  const [isFolded, setFolded] = useState(() => sessionStorage.getItem(key) !== null);
  return [
    isFolded,
    (wanted) => {
      if (wanted) sessionStorage.setItem(key, "1");
      else sessionStorage.removeItem(key);
      setFolded(wanted);
    },
  ];
}
