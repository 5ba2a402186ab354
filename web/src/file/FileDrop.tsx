/** Reads a file that is dropped anywhere on the page, but where a view takes files itself. */
import { useEffect, useEffectEvent, useState } from "react";
import { useNavigate } from "react-router";

import { FILE } from "../words/file";
import { openFile } from "./openedFile";
import "./file.css";

export function FileDrop({ isOff }: { isOff: boolean }) {
  const navigate = useNavigate();
  const [isOver, setOver] = useState(false);

  const over = useEffectEvent((event: DragEvent) => {
    if (![...(event.dataTransfer?.items ?? [])].some(({ kind }) => kind === "file")) return;
    setOver(!event.defaultPrevented && !isOff);
    // The browser would leave the page for the file.
    event.preventDefault();
  });
  const leave = useEffectEvent(({ relatedTarget }: DragEvent) => relatedTarget === null && setOver(false));
  const drop = useEffectEvent((event: DragEvent) => {
    setOver(false);
    const file = event.dataTransfer?.files[0];
    if (event.defaultPrevented || file === undefined) return;
    event.preventDefault();
    if (isOff) return;
    void openFile(file);
    void navigate("/file");
  });

  useEffect(() => {
    const life = new AbortController();
    const { signal } = life;
    window.addEventListener("dragover", (event) => over(event), { signal });
    window.addEventListener("dragleave", (event) => leave(event), { signal });
    window.addEventListener("drop", (event) => drop(event), { signal });
    return () => life.abort();
  }, []);

  return isOver ? (
    <div className="file-drop" role="status">
      <p>{FILE.drop}</p>
    </div>
  ) : null;
}
